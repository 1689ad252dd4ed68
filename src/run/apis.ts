import type { AskedApi } from '../collector/asked-apis.ts';
import type { Field } from '../collector/fields/fields.ts';
import { STANDARD_NAMES } from '../collector/fields/standard.ts';
import type { Settings } from '../options/options.ts';
import { apisOf, type Job, nameApi } from '../profile/job.ts';
import type { OpenOptions } from '../store/database.ts';
import { type Freshness, isFresh } from '../store/freshness.ts';
import { describeHolder } from '../store/owner.ts';
import { type OutcomeStore, openStores } from '../store/store.ts';
import type { RunEvent } from '../watch/events.ts';
import { type BoundedRun, isInterrupted } from './bounds.ts';
import type { OpenedList } from './open.ts';
import { notify, type RunContext } from './run-context.ts';

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
