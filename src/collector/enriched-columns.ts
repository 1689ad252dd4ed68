import type { RowIndex } from '../producer/row-index.ts';
import type { OutcomeHead } from '../store/outcome-codec.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { Field } from './fields.ts';
import { createColumnList, valueAt } from './flatten.ts';

export interface EnrichedColumnsOptions {
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  readonly isUsable: (outcome: OutcomeHead) => boolean;
}

/** More columns than anybody looks at; what is beyond them is in one more column, as JSON. */
const MOST_COLUMNS = 500;

/**
 * Finds the columns that the answers of this list's rows have, without reading the answers: the head
 * of each outcome names its shape. They are known before the first row is written, also those that
 * only the last row has. If there are more than 500, a last column `json` has whole answers.
 */
export async function findEnrichedColumns(
  options: EnrichedColumnsOptions,
): Promise<readonly Field[]> {
  const { index, store, isUsable } = options;
  const merged = new Set<number>();
  const list = createColumnList(MOST_COLUMNS);
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind !== 'due' && kind !== 'known') continue;
      const head = store.findHead(text);
      if (!head || head.shapeId === 0 || merged.has(head.shapeId) || !isUsable(head)) continue;
      merged.add(head.shapeId);
      list.merge(store.findShape(head.shapeId) ?? []);
    }
  }
  const fields = list.columns.map(
    (path): Field => ({ name: path.join('_'), valueOf: (answer) => valueAt(answer, path) }),
  );
  return list.isFull ? [...fields, { name: 'json', valueOf: (answer) => answer }] : fields;
}
