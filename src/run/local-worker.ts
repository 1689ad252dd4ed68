import { createBrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { OutcomeStatus } from '../brand/outcome.ts';
import { type CallCounters, createCallCounters } from '../common/calls.ts';
import { microsOf } from '../common/format.ts';
import type { Closable } from '../common/lifetime.ts';
import type { Api } from '../options/api.ts';
import type { Settings } from '../options/options.ts';
import type { CostBound } from '../queue/call-ledger.ts';
import type { Reply } from '../queue/lookup-queue.ts';
import { createBatches, lookupsAtOnce } from '../worker/batches.ts';
import {
  type Budget,
  type CallLedger,
  createBudget,
  createCostBudget,
  createSharedBudget,
  joinBudgets,
} from '../worker/budget.ts';
import { systemClock } from '../worker/clock.ts';
import { createEvidence, type EvidenceOptions } from '../worker/evidence.ts';
import { createGate, createOwnPace, type Gate, type PauseGate } from '../worker/gate.ts';
import type { LookupContext } from '../worker/lookup.ts';
import type { Learned } from '../worker/pace-memory.ts';
import type { SharedPace } from '../worker/redis-pace.ts';
import type { StopSwitch } from '../worker/stop-switch.ts';
import { createWorker, type Worker } from '../worker/worker.ts';

/** The settings for making calls. */
export type CallSettings = Pick<
  Settings,
  'concurrency' | 'rate' | 'retries' | 'timeout' | 'maxWait' | 'maxOutage' | 'headers'
>;

/** Options that depend on the purpose of the worker. */
export interface LocalWorkerOptions extends Pick<LookupContext, 'onCall'> {
  /** @default no bound */
  readonly maxCalls?: number | undefined;
  /** The most that calls may cost, in the units of the API's profile. @default no bound */
  readonly maxCost?: number | undefined;
  /** Counts the calls of all workers with this credential. @default no bound */
  readonly callLedger?: CallLedger | undefined;
  readonly stopSwitch: StopSwitch;
  /** The pace shared by all workers with this credential. @default a pace of its own */
  readonly sharedPace?: SharedPace | undefined;
  /** What is known when answers are weighed. */
  readonly evidence?: Omit<EvidenceOptions, 'onStop' | 'callers'>;
  /** What an earlier run learned of the pace. @default nothing */
  readonly learned?: Learned | undefined;
  /** Holds all calls up while it is closed. @default calls are never held up */
  readonly pause?: PauseGate | undefined;
  /** Dates outcomes, in milliseconds since 1970. @default the clock of the machine */
  readonly now?: (() => number) | undefined;
}

/** A worker of this process, with its own connections to the API. */
export interface LocalWorker extends Closable {
  readonly worker: Worker;
  readonly gate: Gate;
  readonly counters: Readonly<CallCounters>;
  /** What its lookups came to. */
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** Gives back calls that were taken from the ledger and not made. `close` does so too. */
  readonly giveBackCalls: () => Promise<void>;
}

export async function openLocalWorker(
  settings: CallSettings,
  api: Api,
  options: LocalWorkerOptions,
): Promise<LocalWorker> {
  const { concurrency, retries, timeout, maxWait, maxOutage, headers = [] } = settings;
  const { stopSwitch, sharedPace, learned, callLedger, now = Date.now } = options;
  const { endpoint, credential } = api;
  const rate = settings.rate === 'auto' ? undefined : settings.rate;
  const clock = systemClock;
  const counters = createCallCounters();
  const outcomes = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
  const epochMs = Date.now() - clock.nowMs();
  // First, because a proxy may be refused.
  const client = createBrandClient({
    endpoint,
    credential,
    headers,
    connections: concurrency,
    timeoutMs: timeout,
  });
  const home = sharedPace
    ? (await import('../worker/redis-pace.ts')).createRedisPace({
        ...sharedPace,
        rate,
        start: endpoint.profile?.startRate,
        clock,
        callers: concurrency,
      })
    : createOwnPace(clock.nowMs(), { rate, learned, epochMs });
  const evidence = createEvidence({
    ...options.evidence,
    onStop: (stop) => stopSwitch.stop(stop),
    callers: concurrency,
  });
  const shared = callLedger && createSharedBudget({ ledger: callLedger, now: Date.now });
  const own = budgetOf(options, api);
  const gate = createGate({
    home,
    clock,
    now: Date.now,
    concurrency,
    evidence,
    budget: shared ? joinBudgets(own, shared) : own,
    stopSwitch,
    counters,
    maxWaitMs: maxWait,
    maxOutageMs: maxOutage,
    pause: options.pause,
  });
  stopSwitch.noNewCall.addEventListener('abort', () => evidence.end());
  const batch = endpoint.profile?.batch;
  const worker = createWorker({
    client,
    endpoint,
    gate,
    batches:
      batch && createBatches({ gate, client, endpoint, batch, stopSwitch, clock, concurrency }),
    retries,
    maxWaitMs: maxWait,
    stopSwitch,
    onRetry: () => {
      counters.retries += 1;
    },
    onCall: options.onCall,
    clock,
    now,
    random: Math.random,
    concurrency: lookupsAtOnce(concurrency, endpoint),
  });
  return {
    worker: countOutcomes(worker, outcomes),
    outcomes,
    gate,
    counters,
    giveBackCalls: async () => await shared?.close(),
    close: async () => {
      await shared?.close();
      await gate.close();
      await client.close();
    },
  };
}

function budgetOf(
  { maxCalls, maxCost }: Pick<LocalWorkerOptions, 'maxCalls' | 'maxCost'>,
  { endpoint }: Api,
): Budget {
  const ofCalls = createBudget(maxCalls);
  const ofCost = costBoundOf(maxCost, endpoint);
  if (!ofCost) return ofCalls;
  return joinBudgets(ofCalls, createCostBudget(ofCost.micros, ofCost.perCall));
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

function countOutcomes(worker: Worker, counts: Record<OutcomeStatus, number>): Worker {
  return {
    handle: async (chunk, reply, isWanted) => {
      const counted: Reply = (outcomes) => {
        for (const { status } of outcomes) counts[status] += 1;
        return reply(outcomes);
      };
      await worker.handle(chunk, counted, isWanted);
    },
  };
}
