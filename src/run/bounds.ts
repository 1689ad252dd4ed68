import { resolve } from 'node:path';
import { idOfParts } from '../common/hashes.ts';
import { callsIdOf, type Job } from '../options/api.ts';
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
  readonly callsPer: CallLedger | undefined;
}

/**
 * Opens what counts the calls of a run before they are made. So a run that was killed or interrupted has,
 * when it is run again, what its bounds have left.
 */
export function openLedgers({ job, store, source }: BoundedRun): Ledgers {
  const { maxCalls, maxCallsPer } = job.settings;
  const id = runNameOf({ job, store, source });
  return {
    calls:
      maxCalls === undefined
        ? undefined
        : store.openCallLedger({ id, unit: 'run', count: maxCalls }),
    callsPer: maxCallsPer && store.openCallLedger({ ...maxCallsPer, id: callsIdOf(job) }),
  };
}

/** What its bounds leave for a run; Infinity without a bound. */
interface Left {
  readonly calls: number;
  readonly callsPer: number;
  /** Whether some of it was spent before the run was killed or interrupted. */
  readonly isResumed: boolean;
}

/** As far as the store knows: what others do over a queue is not known yet. */
export async function readLeft(run: BoundedRun): Promise<Left> {
  const { maxCalls = Infinity, maxCallsPer: limit, queue } = run.job.settings;
  const ledgers = openLedgers(run);
  const takenOf = async (ledger: CallLedger | undefined) => (await ledger?.read())?.taken ?? 0;
  const calls = await takenOf(ledgers.calls);
  // Runs seldom take days. Shorter windows are renewed while they run.
  const isLong = limit?.unit === 'day' || limit?.unit === 'month';
  const callsPer = queue === undefined ? await takenOf(ledgers.callsPer) : 0;
  return {
    calls: Math.max(0, maxCalls - calls),
    callsPer: isLong ? Math.max(0, limit.count - callsPer) : Infinity,
    isResumed: calls > 0,
  };
}

/** A commit is made for so many calls, and a killed run may lose as many of its bound. */
const AHEAD = 10;

export function createBudgets({ calls, callsPer }: Ledgers): readonly SharedBudget[] {
  const usedUp = () => ({ reason: 'max_calls' }) as const;
  return [
    calls && createSharedBudget({ ledger: calls, now: Date.now, ahead: AHEAD, usedUp }),
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
  const { calls } = openLedgers(run);
  if (!calls) return;
  const { taken, window } = await calls.read();
  if (taken > 0) await calls.giveBack(taken, window);
}

/** The same for the same list on the same store and queue, so that a killed run is resumed. */
export function runNameOf({ store, source, job }: BoundedRun): string {
  const { id, queueName } = job.endpoint;
  const list = source.hash ?? resolve(source.name);
  return idOfParts([store.id, id, queueName, list, job.settings.out ?? '']);
}
