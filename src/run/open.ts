import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  type FailureColumns,
  findFailureColumns,
  type OpenEarlierOutput,
  openEarlierOutput,
  readFailureColumns,
} from '../collector/earlier-output.ts';
import type { Fill } from '../collector/fill.ts';
import { createRowNotes } from '../collector/row-notes.ts';
import { BrandfillError } from '../common/errors.ts';
import type { Closable, Closer } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import type { Settings } from '../options/options.ts';
import {
  chooseColumn,
  chooseDomainColumn,
  chooseDomainColumnOfFailures,
  refuseDoubtful,
} from '../producer/choose-column.ts';
import type { RowNotes } from '../producer/plan.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader, type DomainReader } from '../rows/domain/domain-reader.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { createReadingReporter, type ReadingReporter } from '../watch/events.ts';
import type { RunContext } from './run-context.ts';

/** An open list with its format and columns. */
export interface OpenedList {
  readonly job: Job;
  readonly context: RunContext;
  readonly closer: Closer;
  readonly spoolFolder: string;
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  readonly readDomain: DomainReader;
  /** The columns that Brandfill added, if it is a failures file that is to be merged. */
  readonly ours: FailureColumns | undefined;
  /** The output into which it is merged. */
  readonly earlier: OpenEarlierOutput | undefined;
  /** Fills blank cells of the list's own columns. */
  readonly fill: Fill | undefined;
  readonly notes: RowNotes | undefined;
  /** Says how far the first reading is. */
  readonly reading: ReadingReporter;
  readonly startedMs: number;
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
}

/** Opens a list and finds its columns. */
export async function open(
  input: ListInput,
  job: Job,
  {
    context,
    closer,
    spoolFolder,
    isOnlyPlanned = false,
  }: Pick<OpenedList, 'context' | 'closer' | 'spoolFolder'> & { readonly isOnlyPlanned?: boolean },
): Promise<OpenedList> {
  const now = createRunTime();
  const started = { startedMs: performance.now(), startedAtMs: now(), now };
  const notifyAll = (messages: readonly string[] = []): void => {
    for (const message of messages) context.onEvent({ type: 'notice', message });
  };
  notifyAll(job.notices);
  const { settings } = job;
  const { encoding, sheet } = settings;
  closer.add(leaveNoEmptyFolders(settings.store));
  const reading = createReadingReporter({
    onNotice: (message) => context.onEvent({ type: 'notice', message, level: 'info' }),
  });
  const { onRead } = reading;
  const opening = { spoolFolder, signal: context.signal, encoding, sheet, onRead };
  const source = closer.add(await openList(input, opening));
  const format = openRows(source, settings);
  const { key, fill: fills } = settings;
  const { signal } = context;
  const list = { source, format, settings, closer, spoolFolder, signal };
  const { column, merging } = await understandList(list).catch((error: unknown) => {
    notifyAll(source.notices); // what is odd about its text may be why no column is found
    throw error;
  });
  const { ours, earlier } = merging ?? { ours: undefined, earlier: undefined };
  const own = ours?.own ?? format;
  const canAnswer = context.confirm !== undefined && !settings.yes;
  if (column.isDoubtful && !ours && !canAnswer && !isOnlyPlanned)
    throw refuseDoubtful(column, source);
  context.onEvent({ type: 'opened', input: source.name, format: format.description, column });
  if (settings.noHeader) context.onEvent({ type: 'notice', message: describeNoHeader(format) });
  const { notices = [], noticesOf } = format;
  notifyAll([...(source.notices ?? []), ...notices, ...(noticesOf?.(column) ?? [])]);
  const choose = (name: string): RowColumn => {
    const { others = [], ...taken } = chooseColumn(source, own, name);
    if (others.length > 0) notifyAll([describeNamesakes(taken, others)]);
    return taken;
  };
  const rules = fills?.map(({ column, field }) => ({ column: choose(column), field })) ?? [];
  const fill =
    rules.length === 0
      ? undefined
      : (await import('../collector/fill.ts')).createFill(rules, format);
  const notes = createRowNotes({
    key: key === undefined ? undefined : choose(key),
    filled: rules.map((rule) => rule.column),
    place: ours?.row,
  });
  const opened = { job, context, closer, spoolFolder, source, format, column, fill, notes };
  const readDomain = createDomainReader({ ...settings, column });
  return { ...opened, readDomain, ours, earlier, reading, ...started };
}

function describeNamesakes({ index, name }: RowColumn, others: readonly RowColumn[]): string {
  const places = others.map((other) => other.index + 1).join(', ');
  return `Several columns are called '${shorten(name)}': column ${index + 1} is taken, and not column ${places}; rename it to have another.`;
}

function describeNoHeader({ columns }: RowFormat): string {
  const names = columns.length === 1 ? 'column_1' : `column_1 to column_${columns.length}`;
  return `Without a header, columns are named by position (${names}), and the outputs get a header with these names.`;
}

/**
 * Makes the time of a run, in milliseconds since 1970. It is the machine's time, but it stands
 * still while a clock that was set back catches up. So nothing that the run dates lies in its
 * future.
 */
export function createRunTime(systemTime: () => number = Date.now): () => number {
  let latestMs = Number.NEGATIVE_INFINITY;
  return () => {
    latestMs = Math.max(latestMs, systemTime());
    return latestMs;
  };
}

interface ListToUnderstand {
  readonly source: Source;
  readonly format: RowFormat;
  readonly settings: Settings;
  readonly closer: Closer;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/** A list with the column of its domains. */
interface UnderstoodList {
  readonly column: DomainColumn;
  /** The columns that Brandfill added, and the output it is merged into, if it is to be merged. */
  readonly merging:
    | { readonly ours: FailureColumns; readonly earlier: OpenEarlierOutput }
    | undefined;
}

/**
 * Finds the column of the domains. For a list that is to be merged, this also opens the earlier
 * output, which shows more of the list than the few rows that are left.
 *
 * @throws BrandfillError `INVALID_SETTING`, `UNREADABLE_INPUT`
 */
async function understandList(list: ListToUnderstand): Promise<UnderstoodList> {
  const { source, format, settings } = list;
  const { merge, prefix, domainColumn: named } = settings;
  if (merge !== undefined) return await understandMerge(list, merge);
  const ours = named === undefined ? findFailureColumns(format, prefix) : undefined;
  const column = ours
    ? columnOfFailures(source, ours, undefined)
    : chooseDomainColumn(source, format, named);
  return { column, merging: undefined };
}

async function understandMerge(list: ListToUnderstand, merge: string): Promise<UnderstoodList> {
  const { source, format, settings, closer, spoolFolder, signal } = list;
  if (source.openSheet) refuseWorkbook(source.name);
  const ours = readFailureColumns({ name: source.name, format }, settings.prefix);
  const failures = { source, format };
  const options = { failures, columns: ours, settings, spoolFolder, signal };
  const earlier = closer.add(await openEarlierOutput(merge, options));
  if (earlier.source.openSheet) refuseWorkbook(earlier.source.name);
  const isNamed = settings.domainColumn !== undefined && ours.own.sampleRows.length > 0;
  const column = isNamed
    ? chooseDomainColumn(source, ours.own, settings.domainColumn)
    : columnOfFailures(source, ours, earlier);
  return { column, merging: { ours, earlier } };
}

function refuseWorkbook(name: string): never {
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot merge ${name}: it is a workbook; enrich the whole list again instead, which asks only for what is not known yet.`,
  );
}

function columnOfFailures(
  source: Source,
  { own, domain }: FailureColumns,
  earlier: OpenEarlierOutput | undefined,
): DomainColumn {
  // Without rows nothing is looked up, so any column will do.
  if (own.sampleRows.length === 0) return { ...domain, by: 'option', example: undefined };
  return chooseDomainColumnOfFailures(source, own, earlier?.own);
}

interface NoEmptyFoldersOptions {
  readonly isThere?: (folder: string) => boolean;
}

/** Removes a folder and its parents in the end, if they did not exist before and are empty. */
export function leaveNoEmptyFolders(
  path: string,
  { isThere = existsSync }: NoEmptyFoldersOptions = {},
): Closable {
  const missing: string[] = [];
  let folder = resolve(path);
  // On Windows the topmost folder may be missing too, as there may be no such drive.
  while (!isThere(folder) && dirname(folder) !== folder) {
    missing.push(folder);
    folder = dirname(folder);
  }
  return {
    close: async () => {
      for (const folder of missing) await rmdir(folder).catch(() => {}); // it is not empty
    },
  };
}
