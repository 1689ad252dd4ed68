import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { countShape, type ShapeCounts } from '../collector/fields/enriched-columns.ts';
import type { ShapeUses } from '../collector/fields/rank-paths.ts';
import { createDomainSample, type DomainSample } from '../collector/fields/rank-paths.ts';
import { chooseOutputPaths } from '../collector/output/output-paths.ts';
import { LayoutDiffers } from '../collector/ready-rows.ts';
import { hasBlanks, noteOfWritten } from '../collector/row-notes.ts';
import { billOf, costOf, costOfUnits, microsOf } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import { callsIdOf, type Job, nameApi, paceIdOf } from '../options/api.ts';
import type { Settings } from '../options/options.ts';
import { describePace, openIfTooLong, warmState } from '../pace/pacer.ts';
import { resumeFixedRate } from '../pace/remembered.ts';
import { assertColumnsThere } from '../producer/choose-column.ts';
import { createDomainRows, type DomainRows } from '../producer/distinct-domains.ts';
import { makePlan, type Plan, type PlanEstimate, type PlanOfSecond } from '../producer/plan.ts';
import { createRowIndex, type RowIndex } from '../producer/row-index.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import type { ListInput } from '../rows/list-input.ts';
import type { Extent, RowColumn } from '../rows/row-format.ts';
import { type Dated, type Freshness, isFresh } from '../store/freshness.ts';
import { createEmptyStore, type OutcomeStore, openStore } from '../store/store.ts';
import { DATABASE } from '../store/store-files.ts';
import { type OpenedList, open } from './open.ts';
import type { ReadyOfRun } from './ready.ts';
import type { RunContext } from './run-context.ts';
import type { TwoApis } from './two-apis.ts';

/** A run with its plan. */
export interface PlannedRun extends OpenedList {
  /** The store as its rows see it. */
  readonly store: OutcomeStore;
  /** Undefined for a run that asks one. */
  readonly apis: TwoApis | undefined;
  readonly index: RowIndex;
  readonly plan: Plan;
  readonly extent: Extent;
  /** The number of rows of each domain that is due. */
  readonly domainRows: Pick<DomainRows, 'rowsOf'>;
  /** The shapes of the outcomes that were fresh at planning. */
  readonly freshShapes: ShapeUses;
  /** Some of its domains, with their rows. */
  readonly sample: DomainSample;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  /** What wrote rows during the first reading, if any were. The index keeps all others then. */
  readonly ready: ReadyOfRun | undefined;
}

/**
 * How many answers are sampled for the order of the columns. With fewer domains the order is exact.
 */
const MOST_SAMPLED = 1_000;

/**
 * Reads all rows once.
 *
 * @param ready writes rows meanwhile
 */
export async function plan(
  list: OpenedList,
  store: OutcomeStore,
  ready?: ReadyOfRun,
): Promise<PlannedRun> {
  const run = await readAll(list, store, ready);
  list.context.onEvent({ type: 'planned', plan: run.plan });
  return run;
}

/** Reads all rows again, because those that are written do not do. */
export async function planAgain(run: PlannedRun): Promise<PlannedRun> {
  await run.ready?.undo();
  return { ...(await readRows(run, ownStoreOf(run))), plan: run.plan };
}

async function readAll(
  list: OpenedList,
  store: OutcomeStore,
  ready: ReadyOfRun | undefined,
): Promise<PlannedRun> {
  try {
    return await readRows(list, store, ready);
  } catch (error) {
    if (!ready || !(error instanceof LayoutDiffers)) throw error;
    await ready.undo();
    return await readRows(list, store);
  }
}

async function readRows(
  list: OpenedList,
  store: OutcomeStore,
  ready?: ReadyOfRun,
): Promise<PlannedRun> {
  const { job, context, closer, source, format, column, readDomain } = list;
  const { mended } = context;
  const seen = await seeStore(list, store);
  const { apis } = seen;
  const asked = mended?.isOnly ? domainsIn(mended.cells, readDomain) : undefined;
  const isUsable = asked
    ? (domain: string, outcome: Dated) => !asked.has(domain) || seen.isUsable(domain, outcome)
    : seen.isUsable;
  const keepsRows = ready !== undefined;
  const index = closer.add(await createRowIndex(list.spoolFolder, { keepsRows }));
  // Rows that are left over are noted again when the run is over.
  const mayBeLeftOver = keepsRows && store.leftOvers.times().length > 0;
  const freshShapes: ShapeCounts = new Map();
  const sample = createDomainSample(MOST_SAMPLED);
  const domainRows = createDomainRows();
  const comparesRows = job.settings.changes !== undefined;
  let rows = 0;
  const { planned, passedOn, extent } = await makePlan({
    source,
    format,
    column,
    readDomain,
    look: (domain, row, note) => {
      rows += 1;
      sample.add(domain);
      const isLeftOver = mayBeLeftOver && store.leftOvers.has(domain);
      const isToFill = list.fill !== undefined && hasBlanks(note);
      const writer = isLeftOver || isToFill ? undefined : ready?.rows;
      const mayAsk = !asked || asked.has(domain);
      const dueAt = mayAsk ? apis?.dueAt(domain) : undefined;
      if (dueAt) return dueAt === 'first' ? 'due' : 'passed_on';
      const head = writer?.find(domain) ?? seen.store.findHead(domain);
      if (!head || !isUsable(domain, head)) return mayAsk ? 'due' : 'known';
      const sizeBytes = head.status === 'found' ? (writer?.write(row, domain, head) ?? 0) : 0;
      countShape(freshShapes, head.shapeId, rows);
      if (sizeBytes === 0) return 'known';
      if (!comparesRows) return { kind: 'written', sizeBytes, fields: 1, text: '' };
      const written = noteOfWritten(note, head.fetchedAtMs);
      return { kind: 'written', sizeBytes, fields: 1, text: domain, note: written };
    },
    onBatch: ready?.rows.flush,
    notes: list.notes,
    domainRows,
    index,
    mended: mended?.cells,
    mostExamples: context.mostExamples,
    signal: context.signal,
  });
  await ready?.rows.end();
  list.reading.end();
  if (planned.rows > 0) assertColumnsThere(source, format, columnsToFind(list));
  const made = {
    ...planned,
    ...(await planCalls(planned.lookups, job, store)),
    ...(await planSecond({ job, apis }, passedOn, planned.lookups)),
  };
  return {
    ...list,
    ...seen,
    index,
    plan: made,
    extent,
    domainRows,
    freshShapes,
    sample,
    ready,
  };
}

/** The store as the rows of a run see it: by one API, or by two. */
async function seeStore(
  { job, startedAtMs, now }: OpenedList,
  store: OutcomeStore,
): Promise<Pick<PlannedRun, 'store' | 'apis' | 'isUsable'>> {
  const { second } = job;
  const isUsable = createFreshnessCheck(job.settings, startedAtMs, now);
  if (!second) return { store, apis: undefined, isUsable };
  const { createTwoApis, nameApis } = await import('./two-apis.ts');
  const [firstName, secondName] = nameApis(job, second);
  const apis = createTwoApis(
    { name: firstName, isSecond: false, store, isUsable },
    {
      name: secondName,
      isSecond: true,
      store: await store.openOther(second.endpoint.id, nameApi(second.settings)),
      isUsable: createFreshnessCheck(second.settings, startedAtMs, now),
    },
    job.settings.thenOn,
  );
  return { store: apis.store, apis, isUsable: apis.isUsable };
}

/** The store by what the first API was asked. */
function ownStoreOf({ apis, store }: PlannedRun): OutcomeStore {
  return apis?.first.store ?? store;
}

/** @param lookupsOfFirst which all may end in what is passed on */
async function planSecond(
  { job: { second }, apis }: Pick<PlannedRun, 'job' | 'apis'>,
  passedOn: Pick<PlanOfSecond, 'lookups' | 'rows'>,
  lookupsOfFirst: number,
): Promise<Pick<Plan, 'second'>> {
  if (!second || !apis) return {};
  const { name, store } = apis.second;
  const mostLookups = passedOn.lookups + lookupsOfFirst;
  const { estimate: _, ...calls } = await planCalls(mostLookups, second, store);
  return { second: { api: name, ...passedOn, mostLookups, ...calls } };
}

function domainsIn(
  cells: ReadonlyMap<number, string>,
  readDomain: DomainReader,
): ReadonlySet<string> {
  const found = [...cells.values()].map(readDomain);
  return new Set(found.flatMap((read) => ('domain' in read ? [read.domain] : [])));
}

/**
 * The columns that must exist. A few objects without the domain are accepted: the next call of the
 * program may have it.
 */
function columnsToFind({ source, column, notes }: OpenedList): readonly RowColumn[] {
  const others = notes?.columns ?? [];
  return source.isOfObjects ? others : [column, ...others];
}

/** The calls and cost of the lookups of a list. */
async function planCalls(
  lookups: number,
  job: Job,
  store: OutcomeStore,
): Promise<Pick<Plan, 'calls' | 'estimate' | 'price' | 'cost' | 'bill'>> {
  const { price, maxCost, maxCalls = lookups } = job.settings;
  const calls = Math.min(lookups, maxCalls, await callsLeftPer(job, store));
  const estimate = estimateCalls({ job, store, calls, nowMs: Date.now() });
  const { billing, batch } = job.endpoint.profile ?? {};
  if (!billing) {
    return { calls, estimate, price, cost: price === undefined ? undefined : costOf(calls, price) };
  }
  const answers = Math.min(lookups, calls * (batch?.size ?? 1));
  const mostMicros = Math.min(answers * billing.priceMicros, microsOf(maxCost) ?? Infinity);
  const cost = price === undefined ? undefined : costOfUnits(mostMicros, price);
  return { calls, estimate, price, cost, bill: billOf(mostMicros, billing.unit) };
}

/**
 * How many calls `maxCallsPer` leaves for a run. Calls that others made over a queue are not known
 * yet.
 */
async function callsLeftPer(job: Job, store: OutcomeStore): Promise<number> {
  const { maxCallsPer: limit, queue } = job.settings;
  // Runs seldom take days. Shorter windows are renewed while they run.
  if (limit?.unit !== 'day' && limit?.unit !== 'month') return Number.POSITIVE_INFINITY;
  if (queue !== undefined || store.id === '') return limit.count;
  const { taken } = await store.openCallLedger(callsIdOf(job), limit).read();
  return Math.max(0, limit.count - taken);
}

/** Reads and counts. Makes no calls, and leaves no file behind. */
export async function planOnly(input: ListInput, job: Job, context: RunContext): Promise<Plan> {
  const closer = createCloser();
  try {
    const list = await open(input, job, {
      context,
      closer,
      spoolFolder: tmpdir(),
      isOnlyPlanned: true,
    });
    const { source, format, earlier } = list;
    if (format.workbook && !earlier) {
      await chooseOutputPaths({ ...job.settings, input, source, format });
    }
    const store = hasStore(job) ? await openStoreOf(job) : createEmptyStore();
    return (await plan(list, closer.add(store))).plan;
  } finally {
    await closer.close();
  }
}

/**
 * Opens the store for the plan of a run. If there is no store yet and `confirm` may decline the
 * calls, an empty one stands in for it: see `makeStore`.
 */
export async function openStoreToPlan(job: Job, { confirm }: RunContext): Promise<OutcomeStore> {
  const mayBeDeclined = confirm !== undefined && !job.settings.yes;
  return mayBeDeclined && !hasStore(job) ? createEmptyStore() : await openStoreOf(job);
}

/** Creates the store of a run that goes on, if it has none yet. */
export async function makeStore(run: PlannedRun): Promise<PlannedRun> {
  if (run.store.id !== '') return run;
  return { ...run, ...(await seeStore(run, run.closer.add(await openStoreOf(run.job)))) };
}

function hasStore({ settings }: Job): boolean {
  return existsSync(joinPath(settings.store, DATABASE));
}

export async function openStoreOf({ settings, endpoint }: Job): Promise<OutcomeStore> {
  const apiName = nameApi(settings);
  return await openStore(settings.store, endpoint.id, {
    keepsFound: settings.onlyMissing,
    apiName,
  });
}

/** The settings that decide which outcomes still count. */
type FreshnessSettings = Pick<
  Settings,
  'fresh' | 'freshNotFound' | 'freshRejected' | 'freshJitter' | 'refresh' | 'onlyMissing'
>;

/**
 * Creates a check of whether the outcome of a domain counts in the run that started at
 * `startedAtMs`.
 *
 * @param now the present time of the run
 */
function createFreshnessCheck(
  settings: FreshnessSettings,
  startedAtMs: number,
  now: () => number,
): (domain: string, outcome: Dated) => boolean {
  const freshness = freshnessOf(settings);
  return (domain, outcome) => isFresh(domain, outcome, { freshness, startedAtMs, nowMs: now() });
}

function freshnessOf(settings: FreshnessSettings): Freshness {
  const { refresh, onlyMissing, fresh, freshNotFound, freshRejected, freshJitter } = settings;
  if (refresh) return NOTHING_COUNTS;
  if (onlyMissing) return { ...NOTHING_COUNTS, foundMs: Number.POSITIVE_INFINITY };
  const durations = { foundMs: fresh, notFoundMs: freshNotFound, rejectedMs: freshRejected };
  return { ...durations, jitter: freshJitter };
}

const NOTHING_COUNTS: Freshness = { foundMs: 0, notFoundMs: 0, rejectedMs: 0, jitter: 0 };

interface EstimateOptions {
  readonly job: Pick<Job, 'endpoint' | 'credential' | 'settings'>;
  readonly store: Pick<OutcomeStore, 'findPace'>;
  readonly calls: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Estimates how long calls take at the limit known so far: the given rate, or else the limit that
 * the last run with this API and credential found, however long ago. The shared state of workers on
 * a queue is not read.
 */
export function estimateCalls(options: EstimateOptions): PlanEstimate | undefined {
  const { job, store, calls, nowMs } = options;
  const { rate, queue, workers, maxWait } = job.settings;
  const isShared = queue !== undefined;
  if (workers === 0 || (isShared && rate === 'auto')) return undefined;
  const saved = isShared ? undefined : store.findPace(paceIdOf(job));
  const savedAgeMs = nowMs - (saved?.savedAtMs ?? nowMs);
  const state =
    rate === 'auto'
      ? warmState(saved?.state, 0, savedAgeMs, 0)
      : resumeFixedRate(saved?.state, { rate, nowMs: 0, savedAgeMs });
  openIfTooLong(state, 0, maxWait);
  const { limitIs, learnedLimitPerSecond, ratePerSecond, waitMs } = describePace(state, 0);
  const limitPerSecond = limitIs === 'fixed' ? ratePerSecond : learnedLimitPerSecond;
  if (limitPerSecond === undefined) return undefined;
  return {
    durationMs: calls === 0 ? 0 : waitMs + (calls / limitPerSecond) * 1_000,
    limitPerSecond,
    limitIs: limitIs === 'fixed' ? 'fixed' : 'learned',
  };
}
