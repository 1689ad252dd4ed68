import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { chooseColumn, chooseDomainColumn } from '../collector/choose-column.ts';
import type { ListToRead } from '../collector/first-reading.ts';
import type { Closable, Closer } from '../common/lifetime.ts';
import { apisOf, type Job } from '../profile/job.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain.ts';
import { type ListInput, openList } from '../rows/open-list.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import { makeStoreHome } from '../store/database.ts';
import { leaveHome } from '../store/home.ts';
import { notify, type RunContext } from './run-context.ts';

/** An open list with its format and columns. */
export interface OpenedList extends ListToRead {
  readonly job: Job;
  readonly context: RunContext;
  readonly closer: Closer;
  readonly spoolFolder: string;
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
}

/** Opens a list and finds its columns. */
export async function open(
  input: ListInput,
  job: Job,
  { context, closer }: Pick<OpenedList, 'context' | 'closer'>,
): Promise<OpenedList> {
  const now = createRunTime();
  const started = { startedAtMs: now(), now };
  for (const message of apisOf(job).flatMap(({ notices }) => notices)) notify(context, message);
  const { settings } = job;
  closer.add(leaveNoEmptyFolders(settings.store));
  const spoolFolder = await makeStoreHome(settings.store);
  closer.add({ close: async () => leaveHome(spoolFolder) });
  const opening = { ...settings, spoolFolder, signal: context.signal };
  const { source, format } = closer.add(await openList(input, opening));
  const { fill: fills } = settings;
  const column = chooseDomainColumn(source, format, settings.domainColumn);
  context.onEvent({ type: 'opened', input: source.name, format: format.description, column });
  for (const message of format.notices ?? []) notify(context, message);
  if (settings.noHeader) notify(context, describeNoHeader(format));
  const choose = (name: string): RowColumn => {
    const { others, ...taken } = chooseColumn(source, format, name);
    if (others.length > 0) notify(context, describeNamesakes(taken, others));
    return taken;
  };
  const rules = fills?.map(({ column, field }) => ({ column: choose(column), field })) ?? [];
  const fill =
    rules.length === 0
      ? undefined
      : (await import('../collector/fill.ts')).createFill(
          rules,
          format,
          settings.formulas === 'keep',
        );
  const { where: wanted } = settings;
  const where = wanted && { column: choose(wanted.column), values: new Set(wanted.values) };
  const key = settings.key === undefined ? undefined : choose(settings.key);
  const opened = { job, context, closer, spoolFolder, source, format, column, fill, key, where };
  const readDomain = createDomainReader({ ...settings, column });
  return { ...opened, readDomain, ...started };
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

/** Removes a folder and its parents in the end, if they did not exist before and are empty. */
function leaveNoEmptyFolders(path: string): Closable {
  const missing: string[] = [];
  let folder = resolve(path);
  while (!existsSync(folder)) {
    missing.push(folder);
    folder = dirname(folder);
  }
  return {
    close: async () => {
      for (const folder of missing) await rmdir(folder).catch(() => {}); // it is not empty
    },
  };
}
