import { createFill, type Fill } from '../collector/fill.ts';
import type { OpenEarlierOutput } from '../collector/merge/earlier-output.ts';
import type { FailureColumns } from '../collector/merge/failure-columns.ts';
import { createRowNotes } from '../collector/row-notes.ts';
import type { Closer } from '../common/closer.ts';
import type { Job } from '../job/job.ts';
import { chooseColumn, refuseDoubtful } from '../producer/choose-column.ts';
import type { RowNotes } from '../producer/plan.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { createDomainReader, type DomainReader } from '../rows/domain/domain-reader.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { createReadingTeller, type ReadingTeller } from '../watch/tell-reading.ts';
import { leaveNoEmptyFolders } from './no-empty-folders.ts';
import type { RunContext } from './run-context.ts';
import { createRunTime } from './run-time.ts';
import { understandList } from './understand-list.ts';

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
  readonly reading: ReadingTeller;
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
  const tellAll = (messages: readonly string[] = []): void => {
    for (const message of messages) context.onEvent({ type: 'notice', message });
  };
  tellAll(job.notices);
  const { settings } = job;
  const { encoding, sheet } = settings;
  closer.add(leaveNoEmptyFolders(settings.store));
  const reading = createReadingTeller({
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
    tellAll(source.notices); // what is odd about its text may be why no column is found
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
  tellAll([...(source.notices ?? []), ...notices, ...(noticesOf?.(column) ?? [])]);
  const choose = (name: string): RowColumn => chooseColumn(source, own, name);
  const rules = fills?.map(({ column, field }) => ({ column: choose(column), field })) ?? [];
  const fill = rules.length === 0 ? undefined : createFill(rules, format);
  const notes = createRowNotes({
    key: key === undefined ? undefined : choose(key),
    filled: rules.map((rule) => rule.column),
    place: ours?.row,
  });
  const opened = { job, context, closer, spoolFolder, source, format, column, fill, notes };
  const readDomain = createDomainReader({ ...settings, column });
  return { ...opened, readDomain, ours, earlier, reading, ...started };
}

function describeNoHeader({ columns }: RowFormat): string {
  const names = columns.length === 1 ? 'column_1' : `column_1 to column_${columns.length}`;
  return `Without a header, columns are named by position (${names}), and the outputs get a header with these names.`;
}
