import { resolve } from 'node:path';
import type { Endpoint } from '../brand/endpoint.ts';
import { microsOf } from '../common/format.ts';
import { idOfParts } from '../common/hashes.ts';
import { callsIdOf, type Job } from '../options/api.ts';
import type { CostBound } from '../queue/call-ledger.ts';
import type { Source } from '../rows/source.ts';
import type { OutcomeStore } from '../store/store.ts';
import { type CallLedger, createSharedBudget, type SharedBudget } from '../worker/budget.ts';
import type { Stop } from '../worker/stop-switch.ts';

/** A run as far as its bounds know it. */
export interface BoundedRun {
  readonly job: Job;
  readonly store: OutcomeStore;
  readonly source: Source;
}

/** Of each bound of a run, what counts for it in the store; undefined where there is no such bound. */
export interface Ledgers {
  readonly calls: CallLedger | undefined;
  readonly cost: CallLedger | undefined;
  readonly callsPer: CallLedger | undefined;
}

/**
 * Opens what counts the calls of a run before they are made. So a run that was killed or interrupted has,
 * when it is run again, what its bounds have left.
 */
export function openLedgers({ job, store, source }: BoundedRun): Ledgers {
  const { maxCalls, maxCost, maxCallsPer } = job.settings;
  const run = runNameOf({ job, store, source });
  const cost = costBoundOf(maxCost, job.endpoint);
  return {
    calls:
      maxCalls === undefined
        ? undefined
        : store.openCallLedger({ id: run, unit: 'run', count: maxCalls }),
    cost: cost && store.openCallLedger({ id: `${run}-cost`, unit: 'run', count: cost.micros }),
    callsPer: maxCallsPer && store.openCallLedger({ ...maxCallsPer, id: callsIdOf(job) }),
  };
}

/** What its bounds leave for a run; Infinity without a bound. */
interface Left {
  readonly calls: number;
  readonly costMicros: number;
  readonly callsPer: number;
  /** Whether some of it was spent before the run was killed or interrupted. */
  readonly isResumed: boolean;
}

/** As far as the store knows: what others do over a queue is not known yet. */
export async function readLeft(run: BoundedRun): Promise<Left> {
  const { maxCalls = Infinity, maxCost, maxCallsPer: limit, queue } = run.job.settings;
  const ledgers = openLedgers(run);
  const takenOf = async (ledger: CallLedger | undefined) => (await ledger?.read())?.taken ?? 0;
  const [calls, cost] = [await takenOf(ledgers.calls), await takenOf(ledgers.cost)];
  // Runs seldom take days. Shorter windows are renewed while they run.
  const isLong = limit?.unit === 'day' || limit?.unit === 'month';
  const callsPer = queue === undefined ? await takenOf(ledgers.callsPer) : 0;
  return {
    calls: Math.max(0, maxCalls - calls),
    costMicros: Math.max(0, (microsOf(maxCost) ?? Infinity) - cost),
    callsPer: isLong ? Math.max(0, limit.count - callsPer) : Infinity,
    isResumed: calls + cost > 0,
  };
}

/** A commit is made for so many calls more than wait. A killed run loses both of its bound. */
const AHEAD = 10;

export function createBudgets({ job }: BoundedRun, ledgers: Ledgers): readonly SharedBudget[] {
  const { calls, cost, callsPer } = ledgers;
  const price = costBoundOf(job.settings.maxCost, job.endpoint)?.perCall ?? 0;
  const counted = { now: Date.now, ahead: AHEAD };
  return [
    calls &&
      createSharedBudget({ ...counted, ledger: calls, usedUp: () => ({ reason: 'max_calls' }) }),
    cost &&
      createSharedBudget({
        ...counted,
        ledger: cost,
        usedUp: () => ({ reason: 'max_cost' }),
        price,
        costOf: (costMicros = price) => costMicros, // a call that was given up may be billed
      }),
    callsPer && createSharedBudget({ ledger: callsPer, now: Date.now }),
  ].filter((budget) => budget !== undefined);
}

/** Whether the same run, started again, goes on with what this one left of its bounds. */
export function isInterrupted(stopped: Stop | undefined): boolean {
  const reasons: readonly (string | undefined)[] = ['interrupted', 'unusable_store', 'error'];
  return reasons.includes(stopped?.reason);
}

/** Ends a run: the next one of its name has the bounds anew, unless this one was interrupted. */
export async function forgetSpent(run: BoundedRun, stopped: Stop | undefined): Promise<void> {
  if (isInterrupted(stopped)) return;
  const { calls, cost } = openLedgers(run);
  for (const ledger of [calls ?? [], cost ?? []].flat()) {
    const { taken, window } = await ledger.read();
    if (taken > 0) await ledger.giveBack(taken, window);
  }
}

/** What calls may cost, all and each of them; undefined without a bound. */
export function costBoundOf(
  maxCost: number | undefined,
  { profile }: Endpoint,
): CostBound | undefined {
  const micros = microsOf(maxCost);
  const { billing, batch } = profile ?? {};
  if (micros === undefined || !billing) return undefined;
  return { micros, perCall: billing.priceMicros * (batch?.size ?? 1) };
}

/**
 * The same for the same list, known by its name, on the same store and queue, so that a killed run is
 * resumed.
 */
export function runNameOf({ store, source, job }: BoundedRun): string {
  const { id, queueName } = job.endpoint;
  return idOfParts([store.id, id, queueName, resolve(source.name), job.settings.out ?? '']);
}
