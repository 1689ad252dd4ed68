import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DelayedError,
  type Job,
  type Queue,
  UnrecoverableError,
  WaitingError,
  Worker,
} from 'bullmq';
import type { HandleChunk, Reply } from '../calls/lookup-queue.ts';
import type { Outcome } from '../calls/outcome.ts';
import { type Rate, slower } from '../calls/rate.ts';
import type { OnNotice } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { announceWorker, type Heartbeat } from './board.ts';
import {
  type LookupsData,
  type OutcomeData,
  parseLookups,
  toData,
  toOutcome,
  withoutCall,
} from './contract.ts';
import { LOCK_MS } from './lock-time.ts';
import { KEPT_FAILURES, QUEUE_OPTIONS, runJobPrefix, SHUTDOWN_TIMEOUT_MS } from './names.ts';
import { type AnsweredJob, OutcomeWriter } from './outcome-writer.ts';
import { askAgain, type Pending } from './parking.ts';
import { openQueue, type RedisServer } from './redis.ts';
import { createNoticeFilter } from './redis-trouble.ts';
import { type WatchedRun, WatchedRuns } from './watched-runs.ts';

export interface TakeJobsOptions {
  readonly redis: RedisServer;
  /** The API, for people. */
  readonly api: string;
  /** Its queue. */
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

/** Jobs of one lookup each fill a worker too. */
const MOST_JOBS = 256;
const PAUSED_MS = 2_000;
/** A job with which this many workers were lost is handled one domain at a time; so is one domain given up. */
const MOST_LOSSES = 2;
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
 *      └── lock ran out ───────┤
 *                              └─ unreadable ─▶ failed, with the reason
 *
 * What is answered leaves the job's data in the same step in which it reaches the stream. Of a job that was lost
 * twice one domain at a time is looked up, and no other such in the same worker. So the first of those left is
 * the one with which workers are lost: after two more it is `worker_crashed`.
 */
export class JobTaker {
  readonly #options: TakeJobsOptions;
  readonly #queue: Queue;
  readonly #worker: Worker<unknown>;
  readonly #writer: OutcomeWriter;
  readonly #heartbeat: Heartbeat;
  readonly #runs: WatchedRuns;
  /** Jobs under way, with their runs. */
  readonly #held = new Map<string, WatchedRun | undefined>();
  #isStopping = false;
  /** Whether a domain with which workers may be lost is under way. */
  #isAlone = false;
  /** The domain that is tried while the worker is sick. */
  #tried: string | undefined;
  /** The mean of the last jobs, in lookups. */
  #size = 50;

  constructor(options: TakeJobsOptions) {
    const { redis, api, queue, concurrency, callsMade, findTrouble, onNotice } = options;
    this.#options = options;
    this.#queue = openQueue<unknown>(redis.client, queue);
    this.#writer = new OutcomeWriter(redis, this.#queue);
    this.#runs = new WatchedRuns(redis, (run) => [...this.#held.values()].includes(run));
    // BullMQ has a signal for whoever declares three parameters, none of them optional.
    const work = async (job: Job<unknown>, token: Token, lost: Signal): Promise<void> =>
      await this.#take(job, token ?? '', lost ?? NEVER);
    this.#worker = new Worker<unknown>(queue, work, {
      ...QUEUE_OPTIONS,
      connection: redis.connect(),
      concurrency: this.#jobsAtOnce(),
      lockDuration: LOCK_MS,
      stalledInterval: Math.ceil(LOCK_MS / 3),
      maxStalledCount: Number.MAX_SAFE_INTEGER, // seen to when they are taken again
      removeOnComplete: { count: 0 },
      removeOnFail: KEPT_FAILURES,
      runRetryDelay: 1_000,
    });
    this.#heartbeat = announceWorker(redis, randomUUID(), () => ({
      host: hostname(),
      pid: process.pid,
      api,
      queue,
      concurrency,
      calls: callsMade(),
      trouble: findTrouble?.(),
    }));
    this.#worker.on('error', redis.refused);
    const isNews = createNoticeFilter();
    this.#worker.on('lockRenewalFailed', (ids: string[]) => {
      for (const id of ids) this.#worker.cancelJob(id);
      // A job that was just given back, or put off, has no lock any more.
      const isCut = ids.some((id) => this.#held.has(id));
      const what = 'This worker was cut off from Redis for too long: its jobs are left to others.';
      if (isCut && isNews(what)) onNotice(what);
    });
    this.#worker.on('failed', (job, error) => {
      if (job) onNotice(`Job ${job.id} failed: ${error.message}.`);
    });
  }

  /** The time that all workers share, in milliseconds since 1970. */
  now(): number {
    return this.#heartbeat.now();
  }

  /** The slowest rate of the runs whose jobs are under way. */
  slowestRate(): Rate | undefined {
    return [...this.#held.values()].reduce<Rate | undefined>(
      (rate, run) => slower(rate, run?.rate),
      undefined,
    );
  }

  /**
   * Takes no more jobs, and gives those that are not done back to the queue once the lookups under way
   * have ended.
   *
   * @param why why the worker stops by itself, in a sentence, for those who wait
   */
  async stop(why?: string): Promise<void> {
    this.#isStopping = true;
    const closing = this.#worker.close().then(() => this.#writer.flush());
    closing.catch(() => {}); // thrown below
    while (this.#held.size > 0) await delay(TICK_MS, undefined, { ref: false });
    await within(SHUTDOWN_TIMEOUT_MS, closing); // a Redis that is away does not answer
    this.#writer.end();
    const sayGoodbye = async (): Promise<void> => {
      await Promise.all([this.#heartbeat.close(why), this.#runs.close(), this.#queue.close()]);
    };
    await within(SHUTDOWN_TIMEOUT_MS, sayGoodbye());
  }

  get #isEnding(): boolean {
    return this.#isStopping || this.#options.signal.aborted;
  }

  get #isSick(): boolean {
    return this.#options.findTrouble?.() !== undefined;
  }

  /** Enough that no caller is idle, though two wait for a last lookup, and no more: others may be. */
  #jobsAtOnce(): number {
    if (this.#isSick) return 1;
    const { concurrency } = this.#options;
    return Math.min(MOST_JOBS, 2 + Math.ceil((4 * concurrency) / this.#size));
  }

  /** Leaves jobs to others for a while, and finds out with one whether calls succeed again. */
  #rest(): void {
    if (this.#isEnding || this.#worker.isPaused()) return;
    void this.#worker.pause(true);
    setTimeout(() => {
      this.#worker.concurrency = this.#jobsAtOnce();
      this.#tried = undefined;
      if (!this.#isEnding) void this.#worker.resume();
    }, SICK_MS).unref();
  }

  async #take(job: Job<unknown>, token: string, lost: AbortSignal): Promise<void> {
    const data = parseLookups(job.data);
    if (typeof data === 'string') throw new UnrecoverableError(data);
    const id = job.id ?? '';
    const ownRun = runOf(id, data.run);
    const run = ownRun === undefined ? undefined : await this.#runs.watch(ownRun, id);
    if (Date.now() - (job.processedOn ?? 0) > LOCK_MS / 3)
      return await this.#giveBack(job, token, lost);
    if (run && !run.isThere) return; // nobody waits any more
    if (run?.isPaused) return await this.#putOff(job, token, PAUSED_MS);
    const isAlone = job.stalledCounter >= MOST_LOSSES;
    if (isAlone && this.#isAlone) return await this.#putOff(job, token, ALONE_MS);
    this.#size += (Math.max(1, data.domains.length) - this.#size) / 10;
    this.#held.set(id, run);
    this.#isAlone ||= isAlone;
    try {
      await this.#lookUp({ job, token, lost, id, data, run });
    } finally {
      if (isAlone) this.#isAlone = false;
      this.#held.delete(id);
      this.#worker.concurrency = this.#jobsAtOnce();
    }
  }

  async #lookUp(taken: TakenJob): Promise<void> {
    const { job, token, lost, id, run } = taken;
    const { texts, invalid } = readDomains(taken.data.domains, this.now());
    const alone = aloneOf(taken, [...texts.keys()]);
    const data = { ...taken.data, alone };
    const answered: AnsweredJob = { id, token, data, left: () => [...texts.values()] };
    const sent = invalid.length > 0 ? [this.#writer.add(answered, invalid)] : [];
    let pending: Pending | undefined; // the last of those that are asked again
    const reply: Reply = (outcomes) => {
      const ended: OutcomeData[] = [];
      for (const outcome of outcomes) {
        const again = this.#askAgain(outcome, data);
        if (again) pending = pending && pending.dueMs > again.dueMs ? pending : again;
        else {
          ended.push(toData(outcome, texts.get(outcome.domain) ?? outcome.domain));
          texts.delete(outcome.domain);
        }
      }
      if (ended.length > 0) sent.push(this.#writer.add(answered, ended));
      return Promise.resolve();
    };
    if (alone && job.stalledCounter >= alone.since + MOST_LOSSES)
      await this.#giveUp(alone.domain, reply);
    else {
      if (alone) await job.updateData(data);
      const list = data.run ?? JSON.stringify(data.ref);
      const domains = alone ? [alone.domain] : [...texts.keys()];
      const chunk = { domains, budget: run?.budget, list };
      await this.#options.handle(chunk, reply, this.#wanted(taken));
    }
    void this.#writer.flush(); // the next job is taken when this one is done
    await Promise.all(sent);
    if (texts.size === 0) return;
    if (this.#isSick) this.#rest();
    const isNext = alone !== undefined && !texts.has(alone.domain);
    if (isNext || this.#isEnding || this.#isSick || lost.aborted)
      return await this.#giveBack(job, token, lost);
    if (pending) {
      const { dueMs, ...since } = pending;
      await job.updateData({ ...data, domains: [...texts.values()], pending: since });
      return await this.#putOff(job, token, dueMs - this.now());
    }
    if (run && !run.isThere) return; // nobody waits any more
    await this.#putOff(job, token, PAUSED_MS);
  }

  async #giveUp(domain: string, reply: Reply): Promise<void> {
    this.#options.onNotice(`Each worker that looked up ${domain} was lost: it is given up.`);
    const why = { status: 'failed', reason: 'worker_crashed', nowMs: this.now() } as const;
    await reply([toOutcome(withoutCall(domain, why))]);
  }

  /** Whether one more lookup of a job is to be made. A worker that is sick tries one. */
  #wanted({ lost, run }: TakenJob): (domain: string) => boolean {
    return (domain) => {
      if (this.#isEnding || lost.aborted || run?.isPaused || run?.isThere === false) return false;
      if (!this.#isSick) return true;
      this.#tried ??= domain;
      return this.#tried === domain;
    };
  }

  /** Runs park what is pending themselves. */
  #askAgain(outcome: Outcome, { run, pending }: LookupsData): Pending | undefined {
    if (outcome.status !== 'pending' || run !== undefined) return undefined;
    const { maxPendingMs } = this.#options;
    return askAgain(pending, outcome, { nowMs: this.now(), maxPendingMs });
  }

  async #putOff(job: Job<unknown>, token: string, forMs: number): Promise<never> {
    this.#held.delete(job.id ?? '');
    await job.moveToDelayed(Date.now() + Math.max(1, forMs), token);
    throw new DelayedError();
  }

  /** Unless it is another's by now. */
  async #giveBack(job: Job<unknown>, token: string, lost: AbortSignal): Promise<never> {
    this.#held.delete(job.id ?? '');
    try {
      await job.moveToWait(token);
      // Or idle workers see it only seconds later.
      await this.#options.redis.client.zadd(this.#queue.toKey('marker'), 0, '0');
    } catch (error) {
      if (!lost.aborted) throw error;
    }
    throw new WaitingError();
  }
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

/** The domain that is looked up alone, of a job with which workers were lost: the first one. */
function aloneOf({ job, data }: TakenJob, [first]: readonly string[]): LookupsData['alone'] {
  if (job.stalledCounter < MOST_LOSSES || first === undefined) return undefined;
  return data.alone?.domain === first ? data.alone : { domain: first, since: job.stalledCounter };
}

/** The texts of a job by domain, each once, and the outcomes of those that are none. */
function readDomains(domains: readonly string[], nowMs: number) {
  const texts = new Map<string, string>();
  const invalid: OutcomeData[] = [];
  for (const text of domains) {
    const found = normalizeDomain(text);
    if (!('invalid' in found)) texts.set(found.domain, texts.get(found.domain) ?? text);
    else invalid.push(withoutCall(text, { status: 'invalid', reason: found.invalid, nowMs }));
  }
  return { texts, invalid };
}

/** The run of ours that added the job, which has a hash: without it nobody waits. */
function runOf(id: string, run: string | undefined): string | undefined {
  return run !== undefined && id.startsWith(runJobPrefix(run)) ? run : undefined;
}
