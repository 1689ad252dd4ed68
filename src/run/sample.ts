import { findJsonObject } from '../brand/json-object.ts';
import type { Field } from '../collector/fields/fields.ts';
import type { CallCounters } from '../common/calls.ts';
import { billOf, costOf, costOfUnits } from '../common/format.ts';
import type { Job } from '../options/api.ts';
import type { Sampled } from '../watch/events.ts';
import type { PlannedRun } from './plan.ts';

/** Domains that are due, as evenly spread over the list as their number allows. */
export async function chooseSample(
  { index, plan }: PlannedRun,
  most: number,
): Promise<ReadonlySet<string>> {
  const chosen = new Set<string>();
  const seen = new Set<string>();
  const step = Math.max(1, plan.lookups / most);
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind !== 'due' || seen.has(text)) continue;
      if (seen.size >= chosen.size * step && chosen.size < most) chosen.add(text);
      seen.add(text);
    }
    if (chosen.size >= most) break;
  }
  return chosen;
}

/** What came of the domains of a sample, and what the rest takes if it goes on like this. */
export function describeSampled(
  run: PlannedRun,
  chosen: ReadonlySet<string>,
  { calls, billedMicros }: CallCounters,
): Sampled {
  const { job, plan } = run;
  const lookups = Math.max(0, plan.lookups - chosen.size);
  const callsLeft = Math.round((calls / chosen.size) * lookups);
  const unitsLeft = Math.round((billedMicros / chosen.size) * lookups);
  const { price } = job.settings;
  const bill = billIn(job, unitsLeft);
  const costLeft = bill ? costOfUnits(unitsLeft, price ?? 0) : costOf(callsLeft, price ?? 0);
  return {
    of: plan.lookups,
    ...describe(chosen, run),
    calls,
    bill: billedMicros === 0 ? undefined : billIn(job, billedMicros),
    left: { lookups, calls: callsLeft, bill, cost: price === undefined ? undefined : costLeft },
  };
}

function billIn({ endpoint }: Job, micros: number): Sampled['bill'] {
  const { billing } = endpoint.profile ?? {};
  return billing && billOf(micros, billing.unit);
}

const MOST_VALUES = 4;

/** What became of some domains, with values in columns: those that were asked for, or the first that there are. */
function describe(
  domains: Iterable<string>,
  { store, job }: PlannedRun,
): Pick<Sampled, 'columns' | 'domains'> {
  const found = [...domains].map((domain) => {
    const outcome = store.find(domain);
    return { domain, outcome, answer: outcome && findJsonObject(outcome.json) };
  });
  const keys = found.flatMap(({ answer }) =>
    Object.entries(answer ?? {}).flatMap(([key, value]) => (isShown(value) ? [key] : [])),
  );
  const fields: readonly Pick<Field, 'name' | 'valueOf'>[] =
    job.settings.fields ??
    [...new Set(keys)].map((name) => ({ name, valueOf: (answer) => answer[name] }));
  const shown = fields.slice(0, MOST_VALUES);
  return {
    columns: shown.map(({ name }) => name),
    domains: found.map(({ domain, outcome, answer }) => {
      if (!outcome) return { domain, status: 'skipped', values: [] };
      if (!answer) {
        return { domain, status: outcome.status, values: [outcome.reason].filter(Boolean) };
      }
      const values = shown.map((field) => field.valueOf(answer));
      const texts = values.map((value) => (isShown(value) ? String(value) : ''));
      return { domain, status: outcome.status, values: texts };
    }),
  };
}

function isShown(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
