import { stat } from 'node:fs/promises';
import { isAnswer } from '../brand/outcome.ts';
import {
  checkEarlierOutput,
  type EarlierOutput,
  type FailureColumns,
} from '../collector/earlier-output.ts';
import { cutRows } from '../collector/join.ts';
import { isListed, type JoinedRow, type OutputRow } from '../collector/joined-row.ts';
import type { OutputColumn, OutputColumns } from '../collector/output/output-columns.ts';
import type { OutputFile } from '../collector/output/output-file.ts';
import { chooseMergePaths, folderOf } from '../collector/output/output-paths.ts';
import { openOutputs } from '../collector/output/outputs.ts';
import { BrandfillError } from '../common/errors.ts';
import { isPiped } from '../common/files.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import type { RowColumn, RowFormat, RowWriter } from '../rows/row-format.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import { createStatusCounts, type Summary } from '../watch/summary.ts';
import { summarize } from './enrich.ts';
import { joinRows } from './join.ts';
import { lookUp } from './look-up.ts';
import { type OpenedList, open } from './open.ts';
import { openStoreToPlan, plan } from './plan.ts';
import type { RunContext } from './run-context.ts';

/**
 * Looks the rows of a failures file up again, and puts what is found in their positions in the
 * output of the same run. The failures file keeps the rows that were again not found.
 *
 * @throws BrandfillError `INVALID_SETTING` when the two files are not of the same run
 */
export async function runToMerge(
  input: ListInput,
  job: Job,
  context: RunContext,
): Promise<Summary> {
  const { store: spoolFolder, merge, out, failures = input } = job.settings;
  if (merge === undefined || typeof failures !== 'string' || isPiped(failures)) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot merge rows that are in no file: name a file for those that fail again (failures).',
    );
  }
  const closer = createCloser();
  try {
    if (await isEmpty(input)) {
      const places = { merge, out: out ?? merge, input, failures };
      await copyElsewhere(places, { context, closer, spoolFolder });
      return nothingToDo({ ...places, folder: spoolFolder, runId: context.runId });
    }
    const list = await open(input, job, { context, closer, spoolFolder });
    const { source, format, column, ours, earlier: opened, fill } = list;
    const { signal } = context;
    const paths = await chooseMergePaths({ out, failures, merge, source, format });
    if (!ours || !opened) throw new TypeError('both files of a merge are there once it is open');
    const sources = [source, opened.source];
    await context.report?.openFiles({ outputs: paths, merge, source, sources });
    const outputs = closer.add(
      await openOutputs(paths, { sources, spoolFolder, onNotice: () => {} }),
    );
    const earlier = closer.add(
      await checkEarlierOutput({
        failures: { source, format },
        columns: ours,
        column,
        readDomain: list.readDomain,
        earlier: opened,
        spoolFolder,
        signal,
      }),
    );
    const run = await plan(list, closer.add(await openStoreToPlan(job, context)));
    const joined = await joinRows(await lookUp(run, folderOf(paths.out)));
    await outputs.writeBy(async (files) => {
      await mergeRows({
        earlier,
        format,
        columns: ours,
        rows: joined.rows,
        output: joined.columns,
        filled: fill?.columns ?? [],
        ...files,
      });
    });
    return summarize(joined, { out: paths.out, failures: paths.failures });
  } finally {
    await closer.close();
  }
}

/** Whether all failures were merged before. A file of objects then has not even a header. */
async function isEmpty(input: ListInput): Promise<boolean> {
  if (typeof input !== 'string' || input === '-') return false;
  const found = await stat(input).catch(() => undefined);
  return found?.isFile() === true && found.size === 0;
}

interface MergePlaces extends Readonly<Record<'merge' | 'out' | 'failures', string>> {
  readonly input: ListInput;
}

/**
 * Copies the earlier output to where the output is wanted, if that is elsewhere, when there is
 * nothing to merge into it. Writes an empty failures file likewise.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no earlier output
 */
async function copyElsewhere(
  { merge, out, input, failures }: MergePlaces,
  { context, closer, spoolFolder }: Pick<OpenedList, 'context' | 'closer' | 'spoolFolder'>,
): Promise<void> {
  const earlier = closer.add(await openList(merge, { spoolFolder, signal: context.signal }));
  if (out === merge && failures === input) return;
  const options = { sources: [earlier], spoolFolder, onNotice: () => {} };
  const outputs = closer.add(await openOutputs({ out, failures, changes: undefined }, options));
  await outputs.writeBy(async (files) => {
    if (earlier.hasByteOrderMark) await files.out.write('\uFEFF');
    for await (const bytes of earlier.read()) await files.out.write(bytes);
  });
}

type NothingToDo = Readonly<Record<'out' | 'failures' | 'folder' | 'runId', string>>;

function nothingToDo({ out, failures, folder, runId }: NothingToDo): Summary {
  return {
    runId,
    rows: 0,
    statuses: createStatusCounts(),
    uniqueDomains: 0,
    freshDomains: 0,
    lookups: 0,
    calls: 0,
    retries: 0,
    throttled: 0,
    cost: undefined,
    elapsedMs: 0,
    lookupMs: 0,
    callsPerSecond: 0,
    pace: undefined,
    store: { folder, sizeBytes: sizeOnDisk(folder) },
    stopped: undefined,
    out,
    failures,
    failuresSheet: undefined,
    filled: undefined,
    logos: undefined,
    changes: undefined,
  };
}

interface MergeOptions {
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
async function mergeRows(options: MergeOptions): Promise<void> {
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
