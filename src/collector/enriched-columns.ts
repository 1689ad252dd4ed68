import type { RowIndex } from '../producer/row-index.ts';
import type { OutcomeHead } from '../store/outcome-codec.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { Field } from './fields.ts';
import { createColumnList, valueAt } from './flatten.ts';

export interface FindShapesOptions {
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  readonly isUsable: (domain: string, outcome: OutcomeHead) => boolean;
  /** The shapes that the plan has met, each with the first row that has it; rows without a domain do not count. */
  readonly freshShapes: ReadonlyMap<number, number>;
}

/** More columns than anybody looks at; what is beyond them is in one more column, as JSON. */
const MOST_COLUMNS = 500;

/**
 * Finds the shapes that the answers of this list's rows have, in the order of the rows, without
 * reading the answers: the head of each outcome names its shape.
 */
export async function findShapes({
  index,
  store,
  isUsable,
  freshShapes,
}: FindShapesOptions): Promise<ReadonlySet<number>> {
  const firstRows = new Map(freshShapes);
  let row = 0;
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind === 'due' || kind === 'known') row += 1;
      if (kind !== 'due') continue; // what was known then is known still
      const head = store.findHead(text);
      if (!head || !isUsable(text, head)) continue;
      const first = firstRows.get(head.shapeId);
      if (first === undefined || row < first) firstRows.set(head.shapeId, row);
    }
  }
  return new Set([...firstRows].sort(([, one], [, other]) => one - other).map(([id]) => id));
}

/**
 * The columns that answers of these shapes have. They are known before the first row is written,
 * also those that only the last row has. If there are more than 500, a last column `json` has whole
 * answers.
 */
export function enrichedColumnsOf(
  shapeIds: ReadonlySet<number>,
  store: OutcomeStore,
): readonly Field[] {
  const list = createColumnList(MOST_COLUMNS);
  for (const id of shapeIds) list.merge(store.findShape(id) ?? []);
  const fields = list.columns.map(
    (path): Field => ({
      name: path.join('_'),
      expression: JSON.stringify(path),
      valueOf: (answer) => valueAt(answer, path),
    }),
  );
  return list.isFull
    ? [...fields, { name: 'json', expression: '@', valueOf: (answer) => answer }]
    : fields;
}
