import { randomUUID } from 'node:crypto';
import { createBrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { OutcomeStatus } from '../brand/outcome.ts';
import { type CallCounters, createCallCounters } from '../common/calls.ts';
import { microsOf } from '../common/format.ts';
import type { Closable } from '../common/lifetime.ts';
import {
  type Budget,
  type CallLedger,
  createBudget,
  createCostBudget,
  createSharedBudget,
  joinBudgets,
} from '../guard/budget.ts';
import { createRetryBudget } from '../guard/retry-budget.ts';
import type { Instruments, WorkerProbe } from '../metrics/metrics.ts';
import type { Api } from '../options/api.ts';
import type { Settings } from '../options/options.ts';
import { systemClock } from '../pace/clock.ts';
import type { PaceState } from '../pace/pacer.ts';
import {
  createRateLimiter,
  createWaitMeter,
  type GateWaits,
  type RateLimiter,
} from '../pace/rate-limiter.ts';
import type { StoredState } from '../pace/shared/state.ts';
import type { CostBound } from '../queue/bullmq/contract.ts';
import type { Reply, WorkerStanding } from '../queue/lookup-queue.ts';
import { PROGRESS_MS, type WorkProgress } from '../watch/events.ts';
import { createBatches, lookupsAtOnce } from '../worker/batches.ts';
import type { PauseGate } from '../worker/call.ts';
import { createCircuitBreaker, createSharedCircuitBreaker } from '../worker/circuit-breaker.ts';
import { type CredenceOptions, createCredence } from '../worker/credence.ts';
import type { LookupContext } from '../worker/lookup.ts';
import type { StopSwitch } from '../worker/stop-switch.ts';
import { createWorker, type Worker, type WorkerOptions } from '../worker/worker.ts';

/** The settings for making calls. */
export type CallSettings = Pick<
  Settings,
  'concurrency' | 'rate' | 'retries' | 'timeout' | 'maxWait' | 'maxOutage' | 'headers'
>;

/** Options that depend on the purpose of the worker. */
export interface LocalWorkerOptions extends Pick<WorkerOptions, 'hasFailedBefore' | 'onCall'> {
  /** @default no bound */
  readonly maxCalls?: number | undefined;
  /** The most that calls may cost, in the units of the API's profile. @default no bound */
  readonly maxCost?: number | undefined;
  /** Counts the calls of all workers with this credential. @default no bound */
  readonly callLedger?: CallLedger | undefined;
  readonly stopSwitch: StopSwitch;
  /** The pace shared by all workers with this credential. @default a pace of its own */
  readonly sharedPace?: StoredState | undefined;
  /** What is known when answers are judged. */
  readonly credence?: Omit<CredenceOptions, 'onDisbelief'>;
  /** The pace that an earlier run learned. @default none */
  readonly startPace?: PaceState | undefined;
  /** Measures the worker. @default not measured */
  readonly measure?: Instruments['worker'] | undefined;
  /** Holds all calls up while it is closed. @default calls are never held up */
  readonly pause?: PauseGate | undefined;
  /**
   * The clock that dates outcomes, in milliseconds since 1970. @default the clock of the machine
   */
  readonly now?: (() => number) | undefined;
}

/** A worker of this process, with its own connections to the API. */
export interface LocalWorker extends WorkerStanding {
  readonly worker: Worker;
  readonly limiter: RateLimiter;
  /** The state of the pace, to be saved; undefined when other workers keep it. */
  readonly snapshotPace: () => PaceState | undefined;
  readonly counters: Readonly<CallCounters>;
  /** The state of an outage of the API in a sentence; undefined when there is none. */
  readonly describeOutage: () => string | undefined;
  /** Why the last failed call failed. */
  readonly lastTrouble: () => string | undefined;
  /** Whether no call may start because the API is out. */
  readonly isOut: () => boolean;
  /** For how long the API, being out, said to wait, in milliseconds; 0 when it said nothing. */
  readonly statedOutMs: () => number;
  /** How long calls were held up, by reason. */
  readonly waitedMs: () => LocalWaits;
  /** Gives back calls that were taken from the ledger and not made. `close` does so too. */
  readonly giveBackCalls: () => Promise<void>;
  close(): Promise<void>;
}

/** How long, in milliseconds, no call could start, or no retry for lack of retry budget. */
export type LocalWaits = GateWaits & { readonly retryBudget: number };

export async function openLocalWorker(
  settings: CallSettings,
  api: Api,
  {
    maxCalls,
    maxCost,
    callLedger,
    stopSwitch,
    sharedPace,
    startPace,
    measure,
    credence,
    now = Date.now,
    ...options
  }: LocalWorkerOptions,
): Promise<LocalWorker> {
  const { concurrency, rate, retries, timeout, maxWait, maxOutage, headers = [] } = settings;
  const counters = createCallCounters();
  const pace = { rate: rate === 'auto' ? undefined : rate, clock: systemClock };
  let trouble: string | undefined;
  const onOutageTooLong = (): void =>
    stopSwitch.stop({ reason: 'outage', ...(trouble === undefined ? {} : { trouble }) });
  const { limiter, breaker, leave, standing } = sharedPace
    ? await openShared(sharedPace)
    : openOwn();

  async function openShared(stored: StoredState) {
    const { createSharedRateLimiter } = await import('../pace/shared/rate-limiter.ts');
    const options = { callers: concurrency, maxOutageMs: maxOutage };
    const shared = createSharedRateLimiter({
      ...pace,
      ...options,
      startRate: api.endpoint.profile?.startRate,
      stored,
      worker: randomUUID(),
      onOutageTooLong,
      onFailingAlone: () => breaker.stepBack(),
    });
    const breaker = createSharedCircuitBreaker(shared, {
      ...options,
      clock: systemClock,
      onTooLong: onOutageTooLong,
      noNewCall: stopSwitch.noNewCall,
    });
    return {
      limiter: shared,
      breaker,
      leave: () => shared.close(),
      standing: breaker,
    };
  }

  function openOwn() {
    const own = createRateLimiter({ ...pace, state: startPace });
    return {
      limiter: own,
      breaker: createCircuitBreaker({
        clock: systemClock,
        callers: concurrency,
        maxOutageMs: maxOutage,
        onTooLong: onOutageTooLong,
        wasLimitedBy503: startPace?.isBy503,
        onLimitBy503: () => own.startAnew(),
      }),
      leave: async () => {},
      standing: ALONE,
    };
  }

  const probe = measure?.({
    concurrency,
    counters,
    pace: () => limiter.describe(),
    isOut: () => breaker.isOut,
  });
  const meter = createWaitMeter(limiter, systemClock);
  const retryBudget = createRetryBudget(systemClock);
  const shared = callLedger && createSharedBudget({ ledger: callLedger, now: Date.now });
  const budget = budgetOf({ maxCalls, maxCost }, api);
  const client = createBrandClient({
    endpoint: api.endpoint,
    credential: api.credential,
    headers,
    connections: concurrency,
    timeoutMs: timeout,
  });
  const context: LookupContext = {
    client,
    endpoint: api.endpoint,
    limiter: meter.limiter,
    breaker,
    retryBudget,
    maxWaitMs: maxWait,
    credence: createCredence({ onDisbelief: (why) => stopSwitch.stop(why), ...credence }),
    budget: shared ? joinBudgets(budget, shared) : budget,
    stopSwitch,
    counters,
    onTrouble: (reason) => {
      trouble = reason;
    },
    onCallEnd: probe?.onCallEnd,
    ...options,
    retries,
    clock: systemClock,
    now,
    random: Math.random,
  };
  const { endpoint } = api;
  const batch = endpoint.profile?.batch;
  const worker = createWorker({
    ...context,
    batches: batch && createBatches({ context, endpoint, batch, concurrency }),
    concurrency: lookupsAtOnce(concurrency, endpoint),
  });
  return {
    worker: probe ? countOutcomes(worker, probe) : worker,
    limiter,
    snapshotPace: () =>
      'snapshot' in limiter
        ? { ...limiter.snapshot(), isBy503: breaker.isLimitedBy503 }
        : undefined,
    counters,
    describeOutage: breaker.describe,
    lastTrouble: () => trouble,
    isOut: () => breaker.isOut,
    statedOutMs: breaker.statedMs,
    appetite: standing.appetite,
    describeStepBack: standing.describeStepBack,
    waitedMs: () => ({ ...meter.waitedMs(), retryBudget: retryBudget.waitedMs() }),
    giveBackCalls: async () => await shared?.close(),
    close: async () => {
      await shared?.close();
      await leave();
      await client.close();
      probe?.end();
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

/** A worker with nobody beside it that could make its calls waits with them instead. */
const ALONE: WorkerStanding = { appetite: () => 'any', describeStepBack: () => undefined };

function countOutcomes(worker: Worker, { onOutcome }: WorkerProbe): Worker {
  return {
    handle: async (chunk, reply, isWanted) => {
      const counted: Reply = (outcomes) => {
        for (const { status } of outcomes) onOutcome(status);
        return reply(outcomes);
      };
      await worker.handle(chunk, counted, isWanted);
    },
  };
}

/** Reports the progress of a worker. */
interface WorkReporter extends Closable {
  /** Wraps a reply so that its outcomes are counted. */
  count(reply: Reply): Reply;
}

/** Reports progress a few times a second until it is closed. */
export function startReportingWork(
  { counters, limiter, describeOutage }: LocalWorker,
  onProgress: (progress: WorkProgress) => void,
): WorkReporter {
  const startMs = performance.now();
  const outcomes: Record<OutcomeStatus, number> = {
    found: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
    pending: 0,
  };
  const tell = (): void =>
    onProgress({
      outcomes: { ...outcomes },
      calls: counters.calls,
      retries: counters.retries,
      throttled: counters.throttled,
      elapsedMs: performance.now() - startMs,
      waitMs: limiter.waitMs(),
      pace: limiter.describe(),
      outage: describeOutage(),
    });
  const ticker = setInterval(tell, PROGRESS_MS);
  return {
    count: (reply) => (replied) => {
      for (const { status } of replied) outcomes[status] += 1;
      return reply(replied);
    },
    close: async () => {
      clearInterval(ticker);
      tell();
    },
  };
}
