import { assertColumnsThere } from '../collector/choose-column.ts';
import type { Counts } from '../collector/counts.ts';
import { createPathFinder, type PathFinder } from '../collector/fields/enriched-columns.ts';
import { chooseOutputPaths } from '../collector/output/output-paths.ts';
import { makePlan, type Plan, type PlanEstimate } from '../collector/plan.ts';
import { firstOf, type Pass } from '../collector/produce.ts';
import { createRowIndex, type RowIndex } from '../collector/row-index.ts';
import { billOf, costOf, MICROS } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Settings } from '../options/options.ts';
import { type Job, nameApi, paceIdOf } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import type { Extent, RowColumn } from '../rows/row-format.ts';
import { type Dated, type Freshness, isFresh } from '../store/freshness.ts';
import { describeHolder } from '../store/owner.ts';
import { type OutcomeStore, openStore, type StoreOptions } from '../store/store.ts';
import { readLearned } from '../worker/pace-memory.ts';
import { type BoundedRun, readLeft } from './bounds.ts';
import { type OpenedList, open } from './open.ts';
import type { RunContext } from './run-context.ts';
import { takeSample } from './sample.ts';

/** A run with its plan. */
export interface PlannedRun extends OpenedList {
  readonly store: OutcomeStore;
  readonly index: RowIndex;
  readonly plan: Plan;
  readonly extent: Extent;
  /** Has seen the answers that are fresh; undefined where the columns were named. */
  readonly paths: PathFinder | undefined;
  /** The rows of each domain. */
  readonly domains: Counts;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  /** Which domains are asked, in the order of the passes. */
  readonly passes: readonly Pass[];
  /** Those that go ahead of all, where it is not known whether the API answers. */
  readonly first: readonly string[];
}

/** Reads all rows once. */
export async function plan(list: OpenedList, store: OutcomeStore): Promise<PlannedRun> {
  const run = await readRows(list, store);
  list.context.onEvent({ type: 'planned', plan: run.plan });
  return run;
}

async function readRows(list: OpenedList, store: OutcomeStore): Promise<PlannedRun> {
  const { job, context, closer, source, format, column, readDomain } = list;
  const freshness = freshnessOf(job.settings);
  const { startedAtMs, now } = list;
  const isUsable = (domain: string, outcome: Dated): boolean =>
    isFresh(domain, outcome, { freshness, startedAtMs, nowMs: now() });
  const index = closer.add(await createRowIndex(list.spoolFolder));
  const line = createLine();
  const paths = job.settings.fields ? undefined : createPathFinder();
  let row = 0;
  const { planned, domains, extent } = await makePlan({
    source,
    format,
    column,
    readDomain,
    look: (domain) => {
      row += 1;
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
  const made = {
    ...taken.planned,
    ...(await planCalls(taken.planned.lookups, { ...list, store })),
  };
  const answersPerCall = job.endpoint.profile?.batch?.size ?? 1;
  return {
    ...list,
    store,
    isUsable,
    paths,
    passes: passesOf(line.cut(made.calls * answersPerCall), store),
    first: store.hasAnswers() ? [] : await firstOf(taken.index, made.lookups),
    index: taken.index,
    plan: made,
    extent: { ...extent, keepsFormulas: job.settings.formulas === 'keep' },
    domains,
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

/** The calls and cost of the lookups of a list. */
async function planCalls(
  lookups: number,
  run: BoundedRun & Pick<OpenedList, 'context'>,
): Promise<Pick<Plan, 'calls' | 'estimate' | 'price' | 'cost' | 'currency' | 'bill' | 'isBound'>> {
  const { job, store, context } = run;
  const { amount: price, currency } = job.settings.price ?? {};
  const left = await readLeft(run);
  if (left.isResumed) {
    const message =
      'This run was interrupted before: the calls that it made then count against its bounds.';
    context.onEvent({ type: 'notice', message, level: 'info' });
  }
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
    const store = await openStoreOf(job, context, { isBeside: true });
    return (await plan(list, closer.add(store))).plan;
  } finally {
    await closer.close();
  }
}

/** Opens the store of a run, and waits while another process has it. */
export async function openStoreOf(
  { settings, endpoint }: Job,
  { signal, onEvent }: Pick<RunContext, 'signal' | 'onEvent'>,
  options: Pick<StoreOptions, 'isBeside'> = {},
): Promise<OutcomeStore> {
  const { store: folder, noWait = false } = settings;
  return await openStore(folder, endpoint.id, {
    ...options,
    apiName: nameApi(settings),
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
