import { createBrandClient } from './brand/client.ts';
import type { OutcomeStatus } from './brand/outcome.ts';
import { createCollector } from './collector/collect.ts';
import type { Job } from './job/job.ts';
import { systemClock } from './pace/clock.ts';
import { createTurnstile } from './pace/turnstile.ts';
import { produce } from './producer/produce.ts';
import type { RowIndex } from './producer/row-index.ts';
import { createInProcessQueue } from './queue/in-process.ts';
import type { OutcomeStore } from './store/store.ts';
import type { Progress, RunEvent } from './watch/events.ts';
import { createBudget } from './worker/budget.ts';
import type { CallCounters } from './worker/call.ts';
import { createStopSwitch, type Stop } from './worker/stop-switch.ts';
import { createWorker } from './worker/worker.ts';

export interface LookUpAllOptions {
  readonly job: Job;
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  /** Lookups that are due, for the progress. */
  readonly lookups: number;
  readonly startedAtMs: number;
  readonly isFresh: (domain: string) => boolean;
  /** Stops the run; calls under way get ten seconds. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
}

/** What the lookups of a run came to. */
export interface LookupTotals extends CallCounters {
  readonly lookups: number;
  readonly elapsedMs: number;
  readonly stopped: Stop | undefined;
}

/** Small, because chunks need not travel here, and few domains are then under way at once. */
const CHUNK_SIZE = 10;
const DRAIN_MS = 10_000;
const PROGRESS_MS = 250;

/**
 * Makes all lookups that are due: producer, queue, worker and collector, wired for one process.
 * Returns when every outcome is on the disk.
 */
export async function lookUpAll(options: LookUpAllOptions): Promise<LookupTotals> {
  const { job, index, store, isFresh, signal, onEvent } = options;
  const { concurrency, rate, retries, timeout, maxCalls, header = [] } = job.settings;
  const startMs = performance.now();
  const stopSwitch = createStopSwitch();
  const counters: CallCounters = { calls: 0, throttled: 0, retries: 0 };
  const outcomes: Record<OutcomeStatus, number> = {
    found: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
  };
  const outstanding = new Set<string>();
  const turnstile = createTurnstile({
    rate: rate === 'auto' ? undefined : rate,
    clock: systemClock,
  });
  const client = createBrandClient({
    endpoint: job.endpoint,
    credential: job.credential,
    headers: header,
    connections: concurrency,
    timeoutMs: timeout,
  });
  const queue = createInProcessQueue({
    collect: createCollector({
      store,
      outstanding,
      startedAtMs: options.startedAtMs,
      onOutcome: (status) => {
        outcomes[status] += 1;
      },
    }),
    // A chunk may wait long for its last domain. As many chunks as callers: none is ever idle.
    window: concurrency + 1,
  });
  const worker = createWorker({
    client,
    endpoint: job.endpoint,
    turnstile,
    budget: createBudget(maxCalls),
    stopSwitch,
    counters,
    concurrency,
    // Another run on the same store may have asked since this one planned.
    isWanted: (domain) => !isFresh(domain),
    retries,
    clock: systemClock,
    now: Date.now,
    random: Math.random,
  });

  const doneCount = (): number => Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const progress = (): Progress => ({
    lookups: options.lookups,
    done: doneCount(),
    outcomes: { ...outcomes },
    ...counters,
    elapsedMs: performance.now() - startMs,
    waitMs: turnstile.waitMs(),
  });

  let drain: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    stopSwitch.stop({ reason: 'interrupted' });
    drain = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), DRAIN_MS);
  };
  stopSwitch.noNewCall.addEventListener('abort', () => {
    const { stopped } = stopSwitch;
    if (stopped && stopped.reason !== 'error') onEvent({ type: 'stopping', stop: stopped });
  });
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  const ticker = setInterval(() => onEvent({ type: 'progress', ...progress() }), PROGRESS_MS);

  try {
    const working = queue.work((chunk, reply) => worker.handle(chunk, reply));
    const producing = produce({
      index,
      queue,
      outstanding,
      isFresh,
      chunkSize: CHUNK_SIZE,
      signal: stopSwitch.noNewCall,
    });
    await allOrNothing([working, producing], () => stopSwitch.giveUp({ reason: 'error' }));
    await store.flush();
    onEvent({ type: 'progress', ...progress() });
  } finally {
    clearInterval(ticker);
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
    await client.close();
  }
  const { elapsedMs, done } = progress();
  return { ...counters, lookups: done, elapsedMs, stopped: stopSwitch.stopped };
}

/** Waits for all; when one fails, makes the others end and throws what went wrong first. */
async function allOrNothing(work: readonly Promise<void>[], cancel: () => void): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  await Promise.all(
    work.map((part) =>
      part.catch((error: unknown) => {
        failure ??= { error };
        cancel();
      }),
    ),
  );
  if (failure) throw failure.error;
}
