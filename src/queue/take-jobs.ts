import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import type { Outcome } from '../brand/outcome.ts';
import type { OnNotice } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { type Rate, slower } from '../worker/rate.ts';
import { announceWorker } from './board.ts';
import {
  type LookupsData,
  type OutcomeData,
  parseLookups,
  toData,
  withoutCall,
} from './contract.ts';
import type { HandleChunk } from './lookup-queue.ts';
import {
  KEPT_FAILURES,
  KEPT_MS,
  LOCK_MS,
  QUEUE_OPTIONS,
  runJobPrefix,
  SHUTDOWN_TIMEOUT_MS,
} from './names.ts';
import { type AnsweredJob, createOutcomeWriter } from './outcome-writer.ts';
import { nextAskMs } from './parking.ts';
import { openQueue, type RedisServer } from './redis.ts';
import { createNoticeFilter } from './redis-errors.ts';
import { isSingle, isStalled, splitStalled } from './split-stalled.ts';
import { createWatchedRuns, type WatchedRun } from './watched-runs.ts';

export interface TakeJobsOptions {
  readonly redis: RedisServer;
  /** The queue of the API. */
  readonly queue: string;
  /** Looks up the domains of a job. */
  readonly handle: HandleChunk;
  /** The most lookups under way at the same time. */
  readonly concurrency: number;
  /** How long lookups of no run may be pending. Runs see to their own. */
  readonly maxPendingMs: number;
  /** Says that calls fail here although those of other workers succeed. @default they do not */
  readonly findTrouble?: () => string | undefined;
  /** Fires when no more lookups are to start here. Those that were not begun go back to the queue. */
  readonly signal: AbortSignal;
  /** HTTP requests made so far. */
  readonly callsMade: () => number;
  readonly onNotice: OnNotice;
}

/** Takes jobs until it is stopped. */
export interface JobTaker {
  /** The time that all workers share, in milliseconds since 1970. */
  now(): number;
  /** The slowest rate of the runs whose jobs are under way. */
  slowestRate(): Rate | undefined;
  /**
   * Takes no more jobs, and gives those that are not done back to the queue once the lookups under way
   * have ended.
   *
   * @param why why the worker stops by itself, in a sentence, for those who wait
   */
  stop(why?: string): Promise<void>;
}

/** Jobs of one lookup each fill a worker too. */
const MOST_JOBS = 256;
const PAUSED_MS = 2_000;
/** A lookup that may crash the worker comes back after this time while another such is under way. */
const ALONE_MS = 250;
const TICK_MS = 100;
const NEVER = new AbortController().signal;
/** How long a worker whose calls fail leaves the jobs to others before it tries one again. */
const SICK_MS = 5_000;

/**
 * The life of a job, in a queue of BullMQ (docs/queue-contract.md has it from the outside):
 *
 *   waiting ──taken──▶ active ─┬─ all answered ───────────────────▶ gone
 *      ▲  ▲                    ├─ its run is over, its bounds used up ▶ gone
 *      │  └──── worker stops ──┤
 *      │        or is sick     ├─ some are pending, of no run ────▶ delayed until they are due
 *      │                       ├─ its run is paused ──────────────▶ delayed for two seconds
 *      └── lock ran out, once ─┤
 *                              ├─ lock ran out twice ─▶ failed ──▶ split: a job for each domain,
 *                              │                                   or `worker_crashed` if it is alone
 *                              └─ unreadable ─▶ failed, with the reason
 *
 * What is answered leaves the job's data in the same step in which it reaches the stream.
 */
export function takeJobs(options: TakeJobsOptions): JobTaker {
  const { redis, handle, concurrency, maxPendingMs, signal, onNotice } = options;
  const { findTrouble = () => undefined } = options;
  const isSick = (): boolean => findTrouble() !== undefined;
  const { client } = redis;
  const writer = createOutcomeWriter(redis);
  /** Jobs under way, with their runs. */
  const held = new Map<string, WatchedRun | undefined>();
  const runs = createWatchedRuns(redis, (run) => [...held.values()].includes(run));
  const queue = openQueue<unknown>(client, options.queue);
  let isStopping = false;
  const isEnding = (): boolean => isStopping || signal.aborted;
  let isAlone = false; // a domain that was cut from a stalled job is under way
  let averageSize = 50;

  const worker = new Worker<unknown>(options.queue, work, {
    ...QUEUE_OPTIONS,
    connection: redis.connect(),
    concurrency: jobsAtOnce(),
    lockDuration: LOCK_MS,
    stalledInterval: Math.ceil(LOCK_MS / 3),
    maxStalledCount: 1,
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILURES,
    runRetryDelay: 1_000,
  });
  const heartbeat = announceWorker(redis, randomUUID(), () => ({
    host: hostname(),
    pid: process.pid,
    queue: options.queue,
    concurrency,
    calls: options.callsMade(),
    trouble: findTrouble(),
  }));
  const now = (): number => heartbeat.now();
  const isNews = createNoticeFilter();
  worker.on('error', redis.refused);
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id);
    const what = 'This worker was cut off from Redis for too long: its jobs are left to others.';
    if (isNews(what)) onNotice(what);
  });
  worker.on('failed', (job, error) => {
    if (!job) return;
    if (isStalled(error.message)) void split(job);
    else onNotice(`Job ${job.id} failed: ${error.message}.`);
  });
  const split = async (job: Job<unknown>): Promise<void> => {
    await splitStalled(job, { queue, writer, now, onNotice }).catch(redis.refused);
  };
  // A worker may have been killed between the failure and the split.
  void queue
    .getFailed(0, 100)
    .then((jobs) => jobs.filter(({ failedReason }) => isStalled(failedReason)).map(split))
    .catch(redis.refused);

  /** Enough that no caller is idle, and no more: others may be. */
  function jobsAtOnce(): number {
    if (isSick()) return 1;
    return Math.max(2, Math.min(MOST_JOBS, Math.ceil((4 * concurrency) / averageSize)));
  }

  /** Leaves jobs to others for a while, and finds out with one whether calls succeed again. */
  function rest(): void {
    if (isEnding() || worker.isPaused()) return;
    void worker.pause(true);
    setTimeout(() => {
      worker.concurrency = jobsAtOnce();
      if (!isEnding()) void worker.resume();
    }, SICK_MS).unref();
  }

  /** BullMQ has a signal for whoever declares three parameters, none of them optional. */
  async function work(job: Job<unknown>, key: Token, cancelled: Signal): Promise<void> {
    const [token, lost] = [key ?? '', cancelled ?? NEVER];
    const data = parseLookups(job.data);
    if (typeof data === 'string') throw new UnrecoverableError(data);
    const id = job.id ?? '';
    const ownRun = runOf(id, data.run);
    const run = ownRun === undefined ? undefined : await runs.watch(ownRun, id);
    if (Date.now() - (job.processedOn ?? 0) > LOCK_MS / 3) return await giveBack(job, token, lost);
    if (run && !run.isThere) return; // nobody waits any more
    if (run?.isPaused) return await putOff(job, token, PAUSED_MS);
    if (isSingle(id) && isAlone) return await putOff(job, token, ALONE_MS);
    averageSize += (Math.max(1, data.domains.length) - averageSize) / 10;
    held.set(id, run);
    isAlone ||= isSingle(id);
    try {
      await lookUp({ job, token, lost, id, data, run });
    } finally {
      if (isSingle(id)) isAlone = false;
      held.delete(id);
      worker.concurrency = jobsAtOnce();
    }
  }

  async function lookUp({ job, token, lost, id, data, run }: TakenJob): Promise<void> {
    const texts = new Map<string, string>(); // by domain, those without an outcome
    const invalid: OutcomeData[] = [];
    for (const text of data.domains) {
      const found = normalizeDomain(text);
      if (!('invalid' in found)) texts.set(found.domain, texts.get(found.domain) ?? text);
      else
        invalid.push(withoutCall(text, { status: 'invalid', reason: found.invalid, nowMs: now() }));
    }
    let askAgainMs = 0; // about those that are pending
    const answered: AnsweredJob = {
      id,
      key: queue.toKey(id),
      token,
      ref: data.ref,
      stream: data.run ?? options.queue,
      keptMs: data.run === undefined ? undefined : KEPT_MS,
      rest: () => JSON.stringify({ ...data, domains: [...texts.values()] }),
    };
    let sickCalls = 0;
    const isWanted = (): boolean => {
      if (isEnding() || lost.aborted || run?.isPaused || run?.isThere === false) return false;
      if (!isSick()) return true;
      sickCalls += 1;
      return sickCalls === 1;
    };
    const sent = invalid.length > 0 ? [writer.add(answered, invalid)] : [];
    const domains = [...texts.keys()];
    const { budget } = run ?? {};
    await handle(
      { domains, budget },
      (outcomes) => {
        const ended: OutcomeData[] = [];
        for (const outcome of outcomes) {
          const dueMs = data.run === undefined ? dueOf(outcome, data) : undefined;
          if (dueMs !== undefined) askAgainMs = Math.max(askAgainMs, dueMs);
          else {
            ended.push(toData(outcome, texts.get(outcome.domain) ?? outcome.domain));
            texts.delete(outcome.domain);
          }
        }
        if (ended.length > 0) sent.push(writer.add(answered, ended));
        return Promise.resolve();
      },
      isWanted,
    );
    void writer.flush(); // the next job is taken when this one is done
    await Promise.all(sent);
    if (texts.size === 0) return;
    if (isSick()) rest();
    if (isEnding() || isSick() || lost.aborted) return await giveBack(job, token, lost);
    if (askAgainMs > 0) {
      const { sinceMs = now(), asks = 0 } = data.pending ?? {};
      const domains = [...texts.values()];
      await job.updateData({ ...data, domains, pending: { sinceMs, asks: asks + 1 } });
      return await putOff(job, token, askAgainMs - now());
    }
    if (run && !run.isThere) return; // nobody waits any more
    await putOff(job, token, PAUSED_MS);
  }

  function dueOf({ status, retryAfterMs }: Outcome, { pending }: LookupsData): number | undefined {
    if (status !== 'pending') return undefined;
    const nowMs = now();
    const { sinceMs = nowMs, asks = 0 } = pending ?? {};
    return nextAskMs({ sinceMs, asks: asks + 1, nowMs, retryAfterMs, maxPendingMs });
  }

  async function putOff(job: Job<unknown>, token: string, forMs: number): Promise<never> {
    await job.moveToDelayed(Date.now() + Math.max(1, forMs), token);
    throw new DelayedError();
  }

  /** Unless it is another's by now. */
  async function giveBack(job: Job<unknown>, token: string, lost: AbortSignal): Promise<never> {
    try {
      await job.moveToWait(token);
      await client.zadd(queue.toKey('marker'), 0, '0'); // or idle workers see it only seconds later
    } catch (error) {
      if (!lost.aborted) throw error;
    }
    throw new WaitingError();
  }

  return {
    now,
    slowestRate: () =>
      [...held.values()].reduce<Rate | undefined>(
        (rate, run) => slower(rate, run?.rate),
        undefined,
      ),
    stop: async (why) => {
      isStopping = true;
      const closing = worker.close().then(() => writer.flush());
      closing.catch(() => {}); // thrown below
      while (held.size > 0) await delay(TICK_MS, undefined, { ref: false });
      await within(SHUTDOWN_TIMEOUT_MS, closing); // a Redis that is away does not answer
      writer.end();
      const sayGoodbye = async (): Promise<void> => {
        await Promise.all([heartbeat.close(why), runs.close(), queue.close()]);
      };
      await within(SHUTDOWN_TIMEOUT_MS, sayGoodbye());
    },
  };
}

type Token = string | undefined;
type Signal = AbortSignal | undefined;

interface TakenJob {
  readonly job: Job<unknown>;
  readonly token: string;
  /** Fires when the job may be another worker's. */
  readonly lost: AbortSignal;
  readonly id: string;
  readonly data: LookupsData;
  readonly run: WatchedRun | undefined;
}

/** The run of ours that added the job, which has a hash: without it nobody waits. */
function runOf(id: string, run: string | undefined): string | undefined {
  return run !== undefined && id.startsWith(runJobPrefix(run)) ? run : undefined;
}
