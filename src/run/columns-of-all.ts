import type { Field } from '../collector/fields/fields.ts';
import { STANDARD_NAMES } from '../collector/fields/standard.ts';
import type { PlannedRun } from './plan.ts';

/** The columns that any of the APIs has, by name, each as that API has it: blank where it does not. */
export function columnsOfAll(apis: PlannedRun['apis']): readonly (readonly Field[])[] {
  const own = apis.map(
    ({ job }) => new Map((job.settings.fields ?? []).map((one) => [one.name, one])),
  );
  const names = new Set([...STANDARD_NAMES, ...own.flatMap((fields) => [...fields.keys()])]);
  if (own.length === 1) return own.map((fields) => [...fields.values()]);
  const all = [...names].filter((name) => own.some((fields) => fields.has(name)));
  return own.map((fields) =>
    all.map((name) => fields.get(name) ?? { name, expression: name, valueOf: () => undefined }),
  );
}
