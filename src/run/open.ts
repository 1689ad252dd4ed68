import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AskedApi } from '../collector/asked-apis.ts';
import { chooseColumn, chooseDomainColumn } from '../collector/choose-column.ts';
import type { Field } from '../collector/fields/fields.ts';
import { STANDARD_NAMES } from '../collector/fields/standard.ts';
import type { ListToRead } from '../collector/first-reading.ts';
import type { Closable, Closer } from '../common/lifetime.ts';
import type { Settings } from '../options/options.ts';
import { apisOf, type Job, nameApi } from '../profile/job.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain.ts';
import { type ListInput, openList } from '../rows/open-list.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import { makeStoreHome, type OpenOptions } from '../store/database.ts';
import { type Freshness, isFresh } from '../store/freshness.ts';
import { leaveHome } from '../store/home.ts';
import { describeHolder } from '../store/owner.ts';
import { type OutcomeStore, openStores } from '../store/store.ts';
import type { RunEvent } from '../watch/events.ts';
import { type BoundedRun, isInterrupted } from './bounds.ts';
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

/** An API that a run asks, with what its store has of it. To its lookups it is the only one. */
export interface ApiOfRun extends AskedApi, BoundedRun {
  readonly store: OutcomeStore;
  /** Where there are several, what is told there has its name. */
  readonly context: RunContext;
  readonly isOneOfSeveral: boolean;
  /**
   * The columns that any of the APIs has, each as this one has it: blank where it does not.
   * Undefined where they are what its answers have.
   */
  readonly fields: readonly Field[] | undefined;
}

/** All that a run asks, in their order. */
export type ApisOfRun = readonly [ApiOfRun, ...ApiOfRun[]];

/** Opens the store of a run, for each of its APIs, and waits while another process has it. */
export async function openApis(
  { job, context, closer, source, startedAtMs, now }: OpenedList,
  options: Pick<OpenOptions, 'isBeside'> = {},
): Promise<ApisOfRun> {
  const { store: folder, noWait = false } = job.settings;
  const jobs = apisOf(job);
  const stores = await openStores(folder, mapAll(jobs, toStored), {
    ...options,
    signal: context.signal,
    waitMs: noWait ? undefined : Number.POSITIVE_INFINITY,
    onHeld: (holder) =>
      notify(
        context,
        `The store ${folder} is in use by ${describeHolder(holder)}: waiting until that ends (option 'noWait' does not).`,
      ),
  });
  closer.add(stores[0]);
  const fields = columnsOfAll(jobs);
  const isOneOfSeveral = jobs.length > 1;
  return mapAll(jobs, (own, at) => {
    const { name, next, settings } = own;
    const freshness = freshnessOf(settings);
    return {
      name,
      next,
      job: own,
      store: stores[at] ?? stores[0],
      source,
      context: isOneOfSeveral ? named(context, name, at < jobs.length - 1) : context,
      isOneOfSeveral,
      fields: fields[at],
      isUsable: (domain, outcome) =>
        isFresh(domain, outcome, { freshness, startedAtMs, nowMs: now() }),
    };
  });
}

function mapAll<T, R>(
  [first, ...others]: readonly [T, ...T[]],
  map: (one: T, at: number) => R,
): readonly [R, ...R[]] {
  return [map(first, 0), ...others.map((one, at) => map(one, at + 1))];
}

function toStored({ settings, endpoint }: Job) {
  return { endpointId: endpoint.id, apiName: nameApi(settings) };
}

/** What is told of one of several APIs. */
function named(context: RunContext, name: string, hasNext: boolean): RunContext {
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'notice') {
      context.onEvent({ ...event, message: `${name}: ${event.message}` });
    } else if (event.type === 'stopping') {
      context.onEvent({ ...event, goesOn: hasNext && !isInterrupted(event.stop) });
    } else context.onEvent(event);
  };
  return { ...context, onEvent };
}

function columnsOfAll(jobs: readonly Job[]): readonly (readonly Field[] | undefined)[] {
  const given = jobs.map(({ settings }) => settings.fields);
  if (given.length === 1) return given;
  const own = given.map((fields = []) => new Map(fields.map((field) => [field.name, field])));
  const names = new Set([...STANDARD_NAMES, ...own.flatMap((fields) => [...fields.keys()])]);
  const all = [...names].filter((name) => own.some((fields) => fields.has(name)));
  return own.map((fields) =>
    all.map((name) => fields.get(name) ?? { name, expression: name, valueOf: () => undefined }),
  );
}

/**
 * The share by which freshness is shortened at random, so that one night's answers do not expire in
 * one night.
 */
const FRESH_JITTER = 0.2;

function freshnessOf(settings: Pick<Settings, 'fresh' | 'freshNotFound' | 'refresh'>): Freshness {
  const { refresh, fresh, freshNotFound } = settings;
  if (refresh) return { foundMs: 0, notFoundMs: 0, jitter: 0 };
  return { foundMs: fresh, notFoundMs: freshNotFound, jitter: FRESH_JITTER };
}
