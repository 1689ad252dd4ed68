import { isAnswer } from '../../brand/outcome.ts';
import type { RowColumn, RowFormat, RowWriter } from '../../rows/row-format.ts';
import { cutRows } from '../join.ts';
import { isListed, type JoinedRow, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from '../output/output-columns.ts';
import type { OutputFile } from '../output/output-file.ts';
import type { EarlierOutput, FailureColumns } from './earlier-output.ts';

export interface MergeOptions {
  readonly earlier: EarlierOutput;
  /** The format of the failures file. Its columns are in `columns`. */
  readonly format: RowFormat;
  readonly columns: FailureColumns;
  /** The new results, in the order of the failures file. The key of a row is its position. */
  readonly rows: AsyncIterable<readonly OutputRow[]>;
  readonly output: OutputColumns;
  /** The list's own columns that were filled. */
  readonly filled: readonly RowColumn[];
  readonly out: OutputFile;
  readonly failures: OutputFile;
}

/** A row of the earlier output, unchanged. */
interface EarlierRow {
  readonly raw: string;
  readonly fields: number;
}

/**
 * Writes the earlier output with the new results in their positions, and the failures that are
 * left. Rows without a new result stay the same to the byte. So do rows with an answer for which
 * there is only a failure now.
 */
export async function mergeRows(options: MergeOptions): Promise<void> {
  const { earlier, format, columns, rows, output, out, failures } = options;
  const outWriter = createRowMerger(earlier, output.out, options.filled);
  const failureNames = columns.names;
  const failureWriter = format.createWriter(failureNames, { maxFields: 0 });
  await out.write(outWriter.header);
  await failures.write(format.createWriter([], { maxFields: 0 }).header);

  function failureOf(row: JoinedRow): string {
    if (row.status === 'skipped') return row.raw;
    const placed = { ...row, number: placeOf(row) };
    // The column of the API that answered is there or not as in the file.
    const values = failureNames.map((_, at) => output.failures[at]?.valueOf(placed));
    return failureWriter.row(format.ownPart(row.raw, columns.row), format.columns.length, values);
  }

  const learned = one(rows);
  let next = await learned.next();
  for await (const batch of rowsOf(earlier)) {
    const texts: string[] = [];
    const left: string[] = [];
    for (const [number, row] of batch) {
      if (next.done || placeOf(next.value) !== number) {
        texts.push(number === NOWHERE ? outWriter.blank(row) : outWriter.untouched(row));
        continue;
      }
      const before = earlier.format.toObject(row.raw)[earlier.added[1] ?? ''];
      const { status } = next.value;
      const isLearned = isAnswer(status) || status === 'invalid';
      const hadValues = before === 'found' || before === 'stale';
      const isKept = status === 'skipped' || (hadValues && !isLearned);
      texts.push(isKept ? outWriter.untouched(row) : outWriter.merged(row, next.value));
      // A row that stays `stale` is still to be looked up.
      if (status !== 'found' && (isLearned || before !== 'found')) left.push(failureOf(next.value));
      next = await learned.next();
    }
    await out.write(texts.join(''));
    if (left.length > 0) await failures.write(left.join(''));
  }
}

/** The position of a row in the earlier output. */
function placeOf({ key }: JoinedRow): number {
  return Number(key);
}

interface RowMerger {
  readonly header: string;
  untouched(row: EarlierRow): string;
  /** An empty line, or one of nothing but delimiters. */
  blank(row: EarlierRow): string;
  merged(row: EarlierRow, learned: JoinedRow): string;
}

/** Writes rows with the columns of the earlier output, followed by the new ones. */
function createRowMerger(
  { format, domain, added, maxFields }: EarlierOutput,
  columns: readonly OutputColumn[],
  filled: readonly RowColumn[],
): RowMerger {
  const more = columns.filter(({ name }) => !added.includes(name)).map(({ name }) => name);
  const byName = new Map(columns.map((column) => [column.name, column]));
  // Objects get the members of a run, in its order.
  const names = format.isTable ? [...added, ...more] : columns.map(({ name }) => name);
  const whole: RowWriter = format.createWriter(names, { maxFields });
  const further: RowWriter = format.createWriter(format.isTable ? more : [], { maxFields });
  const filler = format.createFiller(filled);
  const width = Math.max(format.columns.length, maxFields);
  const nothing = more.map(() => '');
  return {
    header: further.header,
    untouched: ({ raw, fields }) => further.row(raw, fields, nothing),
    blank: ({ raw, fields }) => (fields === 0 ? raw : (further.blank?.(raw, fields) ?? raw)),
    merged: ({ raw }, learned) => {
      const own = filler.fill(format.ownPart(raw, domain), width, learned.fills ?? []).raw;
      return whole.row(
        own,
        width,
        names.map((name) => byName.get(name)?.valueOf(learned)),
      );
    },
  };
}

/** The number of what is not a row. */
const NOWHERE = 0;

function rowsOf({
  source,
  format: { headBytes },
  index,
}: EarlierOutput): AsyncGenerator<readonly (readonly [number: number, row: EarlierRow])[]> {
  let number = 0;
  return cutRows({ source, headBytes, index }, ({ kind, fields }, raw) => {
    if (kind !== 'blank') number += 1;
    return [kind === 'blank' ? NOWHERE : number, { raw, fields }];
  });
}

async function* one(
  batches: AsyncIterable<readonly OutputRow[]>,
): AsyncGenerator<JoinedRow, void, undefined> {
  for await (const batch of batches) yield* batch.filter(isListed);
}
