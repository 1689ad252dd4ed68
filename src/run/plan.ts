import { type AskedApi, isDueAt, placesToAsk } from '../collector/asked-apis.ts';
import { assertColumnsThere } from '../collector/choose-column.ts';
import { type Counts, createCounts } from '../collector/counts.ts';
import { createPathFinder, type PathFinder } from '../collector/fields/enriched-columns.ts';
import { chooseOutputPaths } from '../collector/output/output-paths.ts';
import {
  makePlan,
  type Plan,
  type PlanEstimate,
  type PlannedApi,
  type PlannedRows,
} from '../collector/plan.ts';
import { firstOf, type Pass } from '../collector/produce.ts';
import { createRowIndex, type IndexedRow, type RowIndex } from '../collector/row-index.ts';
import { billOf, costOf, MICROS } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Settings } from '../options/options.ts';
import { type Job, nameApi, paceIdOf } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import type { Extent, RowColumn } from '../rows/row-format.ts';
import { type Dated, type Freshness, isFresh } from '../store/freshness.ts';
import { describeHolder } from '../store/owner.ts';
import {
  type OutcomeStore,
  openStores,
  type StoredApi,
  type StoreOptions,
} from '../store/store.ts';
import { readLearned } from '../worker/pace-memory.ts';
import { type BoundedRun, callsTaken, isNamed, readLeft } from './bounds.ts';
import { type OpenedList, open } from './open.ts';
import type { RunContext } from './run-context.ts';
import { takeSample } from './sample.ts';

/** An API that a run asks, with what its store has of it. */
export interface ApiOfRun extends AskedApi {
  readonly job: Job;
  readonly store: OutcomeStore;
}

/** A run with its plan. */
export interface PlannedRun extends OpenedList {
  /** Of the first API. */
  readonly store: OutcomeStore;
  /** All that are asked, in their order. */
  readonly apis: readonly ApiOfRun[];
  readonly index: Pick<RowIndex, 'read'>;
  readonly plan: Plan;
  readonly extent: Extent;
  /** Has seen the answers that are fresh; undefined where the columns were named. */
  readonly paths: PathFinder | undefined;
  /** The rows of each domain. */
  readonly domains: Counts;
  /** Whether an outcome of the first API counts in this run. */
  readonly isUsable: AskedApi['isUsable'];
  /** Whether its domains are those that other APIs do not know, so that this one may know few. @default false */
  readonly isRest?: boolean;
  /** Which domains are asked, in the order of the passes. */
  readonly passes: readonly Pass[];
  /** Those that go ahead of all, where it is not known whether the API answers. */
  readonly first: readonly string[];
}

/** Reads all rows once. */
export async function plan(list: OpenedList, stores: StoresOfRun): Promise<PlannedRun> {
  const run = await readRows(list, stores);
  list.context.onEvent({ type: 'planned', plan: run.plan });
  return run;
}

/** What a run stores of each of its APIs, in their order. */
type StoresOfRun = readonly [OutcomeStore, ...OutcomeStore[]];

function toApis(
  { job, startedAtMs, now }: OpenedList,
  stores: StoresOfRun,
): readonly [ApiOfRun, ...ApiOfRun[]] {
  const toApi = (job: Job, store: OutcomeStore): ApiOfRun => {
    const freshness = freshnessOf(job.settings);
    const isUsable: AskedApi['isUsable'] = (domain, outcome) =>
      isFresh(domain, outcome, { freshness, startedAtMs, nowMs: now() });
    return { name: job.name, next: job.next, job, store, isUsable };
  };
  const [first, ...further] = stores;
  return [
    toApi(job, first),
    ...further.flatMap((store, at) => {
      const one = job.further[at];
      return one ? [toApi(one, store)] : [];
    }),
  ];
}

async function readRows(list: OpenedList, stores: StoresOfRun): Promise<PlannedRun> {
  const { job, context, closer, source, format, column, readDomain } = list;
  const { startedAtMs, now } = list;
  const [store] = stores;
  const apis = toApis(list, stores);
  const [{ isUsable }] = apis;
  const isSeveral = apis.length > 1;
  const dueAt = apis.map(() => 0);
  const index = closer.add(await createRowIndex(list.spoolFolder));
  const line = createLine();
  const paths = job.settings.fields ? undefined : createPathFinder();
  let row = 0;
  const { planned, domains, extent } = await makePlan({
    source,
    format,
    column,
    readDomain,
    look: (domain, isFirst) => {
      row += 1;
      if (isSeveral) {
        const places = placesToAsk(apis, domain);
        if (isFirst) for (const at of places) dueAt[at] = (dueAt[at] ?? 0) + 1;
        return places.length > 0 ? 'due' : 'known';
      }
      const last: (Dated & { readonly json?: string }) | undefined = paths
        ? store.find(domain)
        : store.findHead(domain);
      if (!last || !isUsable(domain, last)) {
        line.add(last?.fetchedAtMs ?? 0);
        return 'due';
      }
      if (last.fetchedAtMs > now()) store.redate(domain, startedAtMs);
      paths?.see(last.json ?? '', row, domain);
      return 'known';
    },
    key: list.key,
    filled: list.fill?.columns,
    where: list.where,
    index,
    signal: context.signal,
  });
  if (planned.rows + (planned.passedRows ?? 0) > 0)
    assertColumnsThere(source, format, columnsToFind(list));
  const { sample } = job.settings;
  const taken =
    sample === undefined
      ? { planned, index }
      : await takeSample(index, planned, { sample, spoolFolder: list.spoolFolder });
  if (taken.index !== index) closer.add(taken.index);
  const { planned: rows } = taken;
  const run = {
    ...list,
    store,
    apis,
    isUsable,
    paths,
    index: taken.index,
    extent: { ...extent, keepsFormulas: job.settings.formulas === 'keep' },
    domains,
  };
  if (isSeveral) {
    const most = dueAt.map((due) => Math.min(due, rows.lookups));
    return { ...run, plan: { ...rows, ...(await planEach(run, most)) }, passes: [], first: [] };
  }
  const made = { ...rows, ...(await planCalls(rows.lookups, run)) };
  const answersPerCall = job.endpoint.profile?.batch?.size ?? 1;
  return {
    ...run,
    passes: passesOf(line.cut(made.calls * answersPerCall), store),
    first: store.hasAnswers() ? [] : await firstOf(taken.index, made.lookups),
    plan: made,
  };
}

/**
 * What one of several APIs is to be asked, now that those before it have answered: the same run as if it were the
 * only one, in which only the rows are due that are due there.
 */
export async function planAt(run: PlannedRun, at: number): Promise<PlannedRun> {
  const api = run.apis[at];
  if (!api) throw new TypeError(`there is no API ${at}`);
  const { store, isUsable } = api;
  const index: PlannedRun['index'] = {
    read: async function* () {
      for await (const rows of run.index.read()) {
        yield rows.map((row) =>
          row.kind !== 'due' || isDueAt(run.apis, at, row.text) ? row : asKnown(row),
        );
      }
    },
  };
  const line = createLine();
  const seen = createCounts();
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind !== 'due' || seen.add(text) > 1) continue;
      line.add(store.findHead(text)?.fetchedAtMs ?? 0);
    }
  }
  const lookups = seen.size;
  const job = await withinAll(run, api.job);
  const own = { ...run, job, store, isUsable, index, isRest: at > 0 };
  const { calls } = await planCalls(lookups, {
    ...own,
    context: { ...run.context, onEvent: () => {} },
  });
  return {
    ...own,
    plan: { ...run.plan, lookups, calls },
    passes: passesOf(line.cut(calls * (job.endpoint.profile?.batch?.size ?? 1)), store),
    first: store.hasAnswers() ? [] : await firstOf(index, lookups),
  };
}

function asKnown(row: IndexedRow): IndexedRow {
  return { ...row, kind: 'known' };
}

/** One of the jobs of a run, with no more calls than the bound over all APIs leaves it. */
async function withinAll(
  run: Omit<BoundedRun, 'job'> & Pick<PlannedRun, 'job' | 'apis'>,
  job: Job,
): Promise<Job> {
  const { mostCalls } = run.job;
  if (mostCalls === undefined) return job;
  let left = mostCalls;
  for (const api of run.apis) {
    if (api.job !== job) left -= await callsTaken({ ...run, ...api });
  }
  const { maxCalls = Infinity } = job.settings;
  return { ...job, settings: { ...job.settings, maxCalls: Math.max(0, Math.min(maxCalls, left)) } };
}

/** The calls and cost of several APIs: of those after the first at most, as the one before may know all. */
async function planEach(
  run: Omit<PlannedRun, 'plan' | 'passes' | 'first'>,
  most: readonly number[],
): Promise<Omit<Plan, keyof PlannedRows>> {
  const apis: PlannedApi[] = [];
  const { mostCalls } = run.job;
  let taken = 0;
  for (const [at, { name, job, store }] of run.apis.entries()) {
    if (mostCalls !== undefined && isNamed(run)) taken += await callsTaken({ ...run, job, store });
    const lookups = most[at] ?? 0;
    apis.push({ name, lookups, ...(await planCalls(lookups, { ...run, job, store })) });
  }
  if (taken > 0) run.context.onEvent(RESUMED);
  const sum = (of: (api: PlannedApi) => number | undefined): number | undefined =>
    apis.reduce<number | undefined>((all, api) => {
      const one = api.calls === 0 ? 0 : of(api);
      return all === undefined || one === undefined ? undefined : all + one;
    }, 0);
  return {
    calls: Math.min(Math.max(0, (mostCalls ?? Infinity) - taken), sum(({ calls }) => calls) ?? 0),
    estimate: undefined,
    price: undefined,
    cost: sum(({ cost, currency }) => (currency === apis[0]?.currency ? cost : undefined)),
    currency: apis[0]?.currency,
    apis,
  };
}

/** When the domains that are due were asked last. */
interface Line {
  /** @param atMs 0 for a domain that never was */
  add(atMs: number): void;
  /**
   * The time until which no more than so many were asked last, nor than half of all, but those that
   * were asked first; undefined where all were at the same time.
   */
  cut(most: number): number | undefined;
}

/** Times are told apart by so much. */
const SLOT_MS = 100;

/**
 * The one sort key of a plan: domains that were asked longest ago go first, and before them those
 * that never were. So whatever a run leaves over, because it was stopped or had no calls left, comes
 * first in the next one, and a budget goes round the whole list, however small it is.
 */
export function createLine(): Line {
  const slots = new Map<number, number>();
  let all = 0;
  return {
    add: (atMs) => {
      const slot = Math.floor(atMs / SLOT_MS);
      slots.set(slot, (slots.get(slot) ?? 0) + 1);
      all += 1;
    },
    cut: (most) => {
      if (slots.size < 2) return undefined;
      const [[first, firsts] = [0, 0], ...others] = [...slots].sort(
        ([one], [other]) => one - other,
      );
      let [last, left] = [first, Math.min(most, all / 2) - firsts];
      for (const [slot, count] of others) {
        left -= count;
        if (left < 0) break; // else some of the first would have to wait
        last = slot;
      }
      return (last + 1) * SLOT_MS - 1;
    },
  };
}

/** @param untilMs the time until which the domains were asked last that go first */
function passesOf(untilMs: number | undefined, store: OutcomeStore): readonly Pass[] {
  if (untilMs === undefined) return [() => true];
  return [(domain) => (store.findHead(domain)?.fetchedAtMs ?? 0) <= untilMs, () => true];
}

/**
 * The columns that must exist. A few objects without the domain are accepted: the next call of the
 * program may have it.
 */
function columnsToFind({ source, column, key, fill, where }: OpenedList): readonly RowColumn[] {
  const others = [key ?? [], fill?.columns ?? [], where?.column ?? []].flat();
  return source.isOfObjects ? others : [column, ...others];
}

const RESUMED = {
  type: 'notice',
  message: 'This run was interrupted before: the calls that it made then count against its bounds.',
  level: 'info',
} as const;

/** The calls and cost of the lookups of a list. */
async function planCalls(
  lookups: number,
  run: BoundedRun & Pick<OpenedList, 'context'>,
): Promise<Pick<Plan, 'calls' | 'estimate' | 'price' | 'cost' | 'currency' | 'bill' | 'isBound'>> {
  const { job, store, context } = run;
  const { amount: price, currency } = job.settings.price ?? {};
  const left = await readLeft(run);
  if (left.isResumed) context.onEvent(RESUMED);
  const calls = Math.min(lookups, left.calls, left.callsPer);
  const known = { calls, estimate: estimateCalls(calls, job, store), price, currency };
  const { billing, batch } = job.endpoint.profile ?? {};
  if (!billing) {
    return { ...known, cost: price === undefined ? undefined : costOf(calls, price) };
  }
  const answers = Math.min(lookups, calls * (batch?.size ?? 1));
  const { priceMicros = Infinity, unit } = billing;
  const mostMicros = Math.min(answers * priceMicros, left.costMicros) || 0;
  if (mostMicros === Infinity) return { ...known, cost: undefined };
  const cost = price === undefined ? undefined : costOf(mostMicros / MICROS, price);
  const isBound = mostMicros === left.costMicros;
  return { ...known, cost, bill: billOf(mostMicros, unit), isBound };
}

/** Reads and counts. Makes no calls, and leaves no file behind. */
export async function planOnly(input: ListInput, job: Job, context: RunContext): Promise<Plan> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer });
    const { source, format } = list;
    if (format.workbook) {
      await chooseOutputPaths({ ...job.settings, input, source, format });
    }
    const stores = await openStoresOf(job, context, { isBeside: true });
    closer.add(stores[0]);
    return (await plan(list, stores)).plan;
  } finally {
    await closer.close();
  }
}

/** Opens the store of a run, for each of its APIs, and waits while another process has it. */
export async function openStoresOf(
  job: Job,
  { signal, onEvent }: Pick<RunContext, 'signal' | 'onEvent'>,
  options: Pick<StoreOptions, 'isBeside'> = {},
): Promise<StoresOfRun> {
  const { store: folder, noWait = false } = job.settings;
  const toStored = ({ settings, endpoint }: Job): StoredApi => ({
    endpointId: endpoint.id,
    apiName: nameApi(settings),
  });
  const apis = [toStored(job), ...job.further.map(toStored)] as const;
  return await openStores(folder, apis, {
    ...options,
    signal,
    waitMs: noWait ? undefined : Number.POSITIVE_INFINITY,
    onHeld: (holder) => {
      const message = `The store ${folder} is in use by ${describeHolder(holder)}: waiting until that ends (option 'noWait' does not).`;
      onEvent({ type: 'notice', message });
    },
  });
}

/** The share by which freshness is shortened at random, so that one night's answers do not expire in one night. */
const FRESH_JITTER = 0.2;

function freshnessOf(settings: Pick<Settings, 'fresh' | 'freshNotFound' | 'refresh'>): Freshness {
  const { refresh, fresh, freshNotFound } = settings;
  if (refresh) return { foundMs: 0, notFoundMs: 0, jitter: 0 };
  return { foundMs: fresh, notFoundMs: freshNotFound, jitter: FRESH_JITTER };
}

/**
 * Estimates how long calls take at the limit known so far: the given rate, or else the limit that
 * the last run with this API and credential found, however long ago. The shared state of workers on
 * a queue is not read.
 */
export function estimateCalls(
  calls: number,
  job: Job,
  store: Pick<OutcomeStore, 'findPace'>,
  nowMs = Date.now(),
): PlanEstimate | undefined {
  const { rate, queue, workers, maxWait } = job.settings;
  const isShared = queue !== undefined;
  if (workers === 0 || (isShared && rate === 'auto')) return undefined;
  const saved = isShared ? undefined : store.findPace(paceIdOf(job));
  const known = readLearned(saved?.state, 0, { nowMs, maxWaitMs: maxWait });
  const waitMs = Math.max(0, (known?.statedUntilMs ?? 0) - nowMs);
  const limitPerMs = rate === 'auto' ? (known?.limitPerMs ?? 0) : rate.count / rate.perMs;
  const limitPerSecond = limitPerMs > 0 ? limitPerMs * 1_000 : undefined;
  if (limitPerSecond === undefined) return undefined;
  return {
    durationMs: calls === 0 ? 0 : waitMs + (calls / limitPerSecond) * 1_000,
    limitPerSecond,
    limitIs: rate === 'auto' ? 'learned' : 'fixed',
  };
}
