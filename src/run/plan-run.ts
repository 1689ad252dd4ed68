import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { createDomainSample, type DomainSample } from '../collector/fields/domain-sample.ts';
import { countShape, type ShapeCounts } from '../collector/fields/enriched-columns.ts';
import type { ShapeUses } from '../collector/fields/rank-paths.ts';
import { chooseOutputPaths } from '../collector/output/output-paths.ts';
import { createCloser } from '../common/closer.ts';
import { nameApi } from '../job/api-name.ts';
import type { Job } from '../job/job.ts';
import { callsIdOf } from '../job/pace-id.ts';
import { costOf } from '../job/values/price.ts';
import { assertColumnsThere } from '../producer/choose-column.ts';
import { createDomainRows, type DomainRows } from '../producer/domain-rows.ts';
import { makePlan, type Plan, type PlannedRows } from '../producer/plan.ts';
import { createRowIndex, type RowIndex } from '../producer/row-index.ts';
import type { ListInput } from '../rows/list-input.ts';
import type { Extent, RowColumn } from '../rows/row-format.ts';
import type { Dated } from '../store/freshness.ts';
import { createEmptyStore, type OutcomeStore, openStore } from '../store/store.ts';
import { DATABASE } from '../store/store-files.ts';
import { estimateCalls } from './estimate-calls.ts';
import { createFreshnessCheck } from './freshness-of-job.ts';
import { type OpenedList, open } from './open-list-of-run.ts';
import type { RunContext } from './run-context.ts';

/** A run with its plan. */
export interface PlannedRun extends OpenedList {
  readonly store: OutcomeStore;
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
}

/**
 * How many answers are sampled for the order of the columns. With fewer domains the order is exact.
 */
const MOST_SAMPLED = 1_000;

/** Reads all rows once. */
export async function plan(list: OpenedList, store: OutcomeStore): Promise<PlannedRun> {
  const { job, context, closer, source, format, column, readDomain, startedAtMs, now } = list;
  const isUsable = createFreshnessCheck(job.settings, startedAtMs, now);
  const index = closer.add(await createRowIndex(list.spoolFolder));
  const freshShapes: ShapeCounts = new Map();
  const sample = createDomainSample(MOST_SAMPLED);
  const domainRows = createDomainRows();
  let rows = 0;
  const { planned, extent } = await makePlan({
    source,
    format,
    column,
    readDomain,
    isFresh: (domain) => {
      rows += 1;
      sample.add(domain);
      const head = store.findHead(domain);
      if (!head || !isUsable(domain, head)) return false;
      countShape(freshShapes, head.shapeId, rows);
      return true;
    },
    notes: list.notes,
    domainRows,
    index,
    signal: context.signal,
  });
  list.reading.end();
  if (planned.rows > 0) assertColumnsThere(source, format, columnsToFind(list));
  const made = { ...planned, ...(await planCalls(planned.lookups, job, store)) };
  context.onEvent({ type: 'planned', plan: made });
  return { ...list, store, index, plan: made, extent, domainRows, freshShapes, sample, isUsable };
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
): Promise<Omit<Plan, keyof PlannedRows>> {
  const { price, maxCalls = lookups } = job.settings;
  const calls = Math.min(lookups, maxCalls, await callsLeftPer(job, store));
  const estimate = estimateCalls({ job, store, calls, nowMs: Date.now() });
  return { calls, estimate, price, cost: price === undefined ? undefined : costOf(calls, price) };
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
  return { ...run, store: run.closer.add(await openStoreOf(run.job)) };
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
