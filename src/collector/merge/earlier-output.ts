import { BrandfillError } from '../../errors.ts';
import { createRowIndex, type RowIndex } from '../../producer/row-index.ts';
import type { RowColumn, RowFormat, ScannedRow } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { FailureColumns } from './failure-columns.ts';

/** A list that is open. */
interface OpenList {
  readonly source: Source;
  readonly format: RowFormat;
}

/** The output of an earlier run, that rows are put into. */
export interface EarlierOutput extends OpenList {
  readonly domain: RowColumn;
  /** Names of the added columns, in their order; of objects, only those that all of them have. */
  readonly added: readonly string[];
  /** How long each of its rows is. */
  readonly index: RowIndex;
  readonly maxFields: number;
  close(): Promise<void>;
}

export interface CheckOptions {
  readonly failures: OpenList;
  readonly columns: FailureColumns;
  readonly earlier: OpenList;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that each row of a failures file is that of its place in an earlier output, before any
 * call is made.
 *
 * @throws BrandfillError `INVALID_SETTING` when one is not, and nothing may be changed
 */
export async function checkEarlierOutput(options: CheckOptions): Promise<EarlierOutput> {
  const { failures, columns, earlier, spoolFolder, signal } = options;
  const { domain, added } = findAdded(failures, columns, earlier);
  const index = await createRowIndex(spoolFolder);
  let maxFields = 0;
  try {
    const wanted = rowsOf(failures.format.scan(failures.source, columns.domain, [columns.row]));
    let next = await wanted.next();
    let last = 0;
    let number = 0;
    const fail = (why: string): BrandfillError =>
      new BrandfillError(
        'INVALID_SETTING',
        `Cannot merge ${failures.source.name} into ${earlier.source.name}: ${why}; nothing was changed.`,
      );
    const numberOf = ({ others }: ScannedRow): number => {
      const [text = ''] = others ?? [];
      const found = /^\d+$/.test(text) ? Number(text) : 0;
      if (found < 1) throw fail(`a row has no place in ${columns.row.name}`);
      if (found <= last) throw fail(`its rows are not in the order of ${columns.row.name}`);
      last = found;
      return found;
    };
    let place = next.done ? 0 : numberOf(next.value);
    for await (const batch of earlier.format.scan(earlier.source, domain)) {
      signal.throwIfAborted();
      for (const { cell, fields } of batch) {
        if (fields === 0) continue;
        number += 1;
        maxFields = Math.max(maxFields, fields);
        if (next.done || number !== place) continue;
        if (next.value.cell !== cell) {
          throw fail(
            `row ${number} has the domain '${next.value.cell}' in the one and '${cell}' in the other, so they are not of the same run`,
          );
        }
        next = await wanted.next();
        if (!next.done) place = numberOf(next.value);
      }
      await index.append(
        batch.map(({ sizeBytes, fields }) => ({
          kind: fields === 0 ? 'blank' : 'known',
          sizeBytes,
          fields,
          text: '',
        })),
      );
    }
    if (!next.done) throw fail(`there is no row ${place} in it, so they are not of the same run`);
    await earlier.source.assertUnchanged();
    return { ...earlier, domain, added, index, maxFields, close: () => index.close() };
  } catch (error) {
    await index.close();
    throw error;
  }
}

/** Finds the columns that were added in the earlier output: they begin with domain and status. */
function findAdded(
  failures: OpenList,
  { domain: { name: domain }, names, own }: FailureColumns,
  { source, format }: OpenList,
): Pick<EarlierOutput, 'domain' | 'added'> {
  const status = names[2] ?? '';
  const fail = (why: string): BrandfillError =>
    new BrandfillError(
      'INVALID_SETTING',
      `Cannot merge into ${source.name}: ${why}; expected the output of the run that ${failures.source.name} is of.`,
    );
  if (format.kind !== failures.format.kind) throw fail(`it is ${format.description}`);
  for (const name of [domain, status]) {
    if (!format.columns.includes(name)) throw fail(`it has no column ${name}`);
  }
  if (!format.isTable) return { domain: { index: -1, name: domain }, added: [domain, status] };
  const at = own.columns.length;
  const isSame = own.columns.every((name, index) => format.columns[index] === name);
  if (!isSame || format.columns[at] !== domain || format.columns[at + 1] !== status) {
    throw fail(`its columns do not begin with those of ${failures.source.name}`);
  }
  return { domain: { index: at, name: domain }, added: format.columns.slice(at) };
}

async function* rowsOf(
  batches: AsyncIterable<readonly ScannedRow[]>,
): AsyncGenerator<ScannedRow, void, undefined> {
  for await (const batch of batches) {
    for (const row of batch) if (row.fields > 0) yield row;
  }
}
