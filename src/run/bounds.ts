import { resolve } from 'node:path';
import type { Endpoint } from '../brand/endpoint.ts';
import {
  type CallLedger,
  type Counting,
  createRunBudget,
  createSharedBudget,
  type RunBound,
  type SharedBudget,
} from '../calls/budget.ts';
import { wayOf } from '../calls/stops.ts';
import { microsOf } from '../common/format.ts';
import { idOfParts } from '../common/hashes.ts';
import { callsIdOf, type Job } from '../profile/job.ts';
import { STANDARD_INPUT } from '../rows/open-list.ts';
import type { Source } from '../rows/source.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RunContext } from './run-context.ts';

/** A run as far as its bounds know it. */
export interface BoundedRun {
  readonly job: Job;
  readonly store: OutcomeStore;
  readonly source: Source;
  readonly context: Pick<RunContext, 'runName'>;
}

/** A bound of a run, and what counts for it in its store. */
export interface CountedBound extends RunBound {
  readonly ledger: CallLedger;
}

/** What counts the calls of a run in its store before they are made. */
export interface Ledgers {
  /** Of the bounds of the run itself. */
  readonly own: readonly CountedBound[];
  /** Of all runs with the credential; undefined where they are not bounded. */
  readonly callsPer: CallLedger | undefined;
}

/**
 * Opens what counts the calls of a run. One that was killed or interrupted has, when it is run
 * again, what its bounds have left.
 */
export function openLedgers(run: BoundedRun): Ledgers {
  const { job, store } = run;
  const { maxCalls, maxCost, maxCallsPer: per } = job.settings;
  const [calls, cost] = ledgerIdsOf(run);
  const open = (id: string, bound: Omit<CountedBound, 'ledger' | 'most'>, most?: number) =>
    most === undefined
      ? []
      : [{ ...bound, most, ledger: store.openCallLedger({ id, count: most, each: bound.each }) }];
  return {
    own: [
      ...open(cost, { field: 'micros', each: priceOf(job.endpoint) }, microsOf(maxCost)),
      ...open(calls, { field: 'calls', each: 1 }, maxCalls),
    ],
    callsPer: per && store.openCallLedger({ id: callsIdOf(job), count: per.count, per, each: 1 }),
  };
}

/**
 * What its bounds leave for a run, Infinity without a bound, as far as the store knows: what others
 * do over a queue is not known yet.
 */
export async function readLeft(run: BoundedRun) {
  const { maxCalls = Infinity, maxCost, maxCallsPer: limit, queue } = run.job.settings;
  const { own, callsPer: all } = openLedgers(run);
  const taken = { calls: 0, micros: 0 };
  for (const { field, ledger } of isNamed(run) ? own : []) {
    taken[field] = (await ledger.read()).taken;
  }
  // Runs seldom take days. Shorter windows are renewed while they run.
  const isLong = limit?.unit === 'day' || limit?.unit === 'month';
  const callsPer = queue === undefined ? ((await all?.read())?.taken ?? 0) : 0;
  return {
    calls: Math.max(0, maxCalls - taken.calls),
    costMicros: Math.max(0, (microsOf(maxCost) ?? Infinity) - taken.micros),
    callsPer: isLong ? Math.max(0, limit.count - callsPer) : Infinity,
    /** Whether some of it was spent before the run was killed or interrupted. */
    isResumed: taken.calls + taken.micros > 0,
  };
}

/** A commit is made for so many calls more than wait. A killed run loses both of its bound. */
const AHEAD = 10;

/** The budgets of all calls that are made in this process. */
export function createBudgets(
  { job }: BoundedRun,
  { own, callsPer }: Ledgers,
): readonly SharedBudget[] {
  const counting = countingOf(job.endpoint);
  const ofRun = own.map((bound) =>
    createRunBudget(bound, bound.ledger, { ...counting, ahead: AHEAD }),
  );
  return callsPer
    ? [...ofRun, createSharedBudget({ ...counting, ledger: callsPer, now: Date.now })]
    : ofRun;
}

/** What of a call counts for the bounds of calls. */
export function countingOf({ profile }: Endpoint): Counting {
  const { size = 1, counts = 'calls' } = profile?.batch ?? {};
  return { size, counts, least: profile?.billing?.priceMicros };
}

/** What one domain may cost in millionths of a unit; undefined where only answers tell. */
function priceOf({ profile }: Endpoint): number | undefined {
  const { billing } = profile ?? {};
  return billing?.isStated ? undefined : billing?.priceMicros;
}

/** Whether the same run, started again, goes on with what this one left of its bounds. */
export function isInterrupted(stopped: Stop | undefined): boolean {
  return stopped !== undefined && wayOf(stopped.reason).isOfRun === true;
}

/** The calls of a run that count for its bound `maxCalls` so far, before it was killed too. */
export async function callsTaken(run: BoundedRun): Promise<number> {
  const [id] = ledgerIdsOf(run);
  return (await run.store.openCallLedger({ id, count: 0, each: 1 }).read()).taken;
}

/** Has the next run of the same name begin with its bounds anew. */
export async function forgetSpent(runs: readonly BoundedRun[]): Promise<void> {
  for (const run of runs) await run.store.forgetCalls(ledgerIdsOf(run));
}

/**
 * Whether another start can be known to be the same run: by its name, or by the path of its list.
 */
export function isNamed({ context, source }: Pick<BoundedRun, 'context' | 'source'>): boolean {
  return (
    context.runName !== undefined || (source.file !== undefined && source.name !== STANDARD_INPUT)
  );
}

/**
 * The same for the same list on the same store and queue, whatever is made of it: what workers were
 * asked for a run that was killed is not asked again by the next one. Lists without a name share
 * one.
 */
export function runIdOf(run: BoundedRun): string {
  const { store, source, job, context } = run;
  const { id, queueName } = job.endpoint;
  const name = context.runName ?? (isNamed(run) ? resolve(source.name) : '');
  return idOfParts([store.id, id, queueName, name]);
}

/** A sample has bounds of its own, and so has each output. */
function ledgerIdsOf(run: BoundedRun): readonly [calls: string, cost: string] {
  const { out = '', sample = '' } = run.job.settings;
  const id = idOfParts([runIdOf(run), out, sample]);
  return [id, `${id}-cost`];
}
