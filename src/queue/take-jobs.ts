import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Job, type Queue, UnrecoverableError, Worker } from 'bullmq';
import type { HandleChunk } from '../calls/lookup-queue.ts';
import { type Rate, slower } from '../calls/rate.ts';
import type { OnNotice } from '../common/errors.ts';
import { type Closable, within } from '../common/lifetime.ts';
import { announceWorker, type Heartbeat } from './board.ts';
import { parseLookups } from './contract.ts';
import { LOCK_MS } from './lock-time.ts';
import { GOODBYE_MS, KEPT_FAILURES, QUEUE_OPTIONS, runJobPrefix, SETTLED_MS } from './names.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import {
  openQueue,
  parsed,
  type RedisClient,
  type RedisServer,
  repeat,
  shortenLocks,
} from './redis.ts';
import { createNoticeFilter } from './redis-trouble.ts';
import { TakenJob, type TakenJobContext } from './taken-job.ts';
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
  /** How many lookups it is of use to hold at present: others may make more than that sooner. */
  readonly useful: () => number;
  /** How long lookups of no run may be pending. Runs see to their own. */
  readonly maxPendingMs: number;
  /** Says that calls fail here although those of other workers succeed. @default they do not */
  readonly findTrouble?: () => string | undefined;
  /**
   * Fires when no more lookups are to start here. Those that were not begun go back to the queue.
   */
  readonly signal: AbortSignal;
  /** HTTP requests made so far. */
  readonly callsMade: () => number;
  readonly onNotice: OnNotice;
}

/** Jobs of one lookup each fill a worker too. */
const MOST_JOBS = 256;
const PAUSED_MS = 2_000;
/**
 * A lookup that may crash the worker comes back after this time while another such is under way.
 */
const ALONE_MS = 250;
const TICK_MS = 100;
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
 * Of a job that lost its worker twice one domain at a time is looked up, and of no other such here
 * meanwhile: one with which two more are lost is `worker_crashed`.
 */
export class JobTaker {
  readonly #options: TakeJobsOptions;
  readonly #queue: Queue;
  readonly #worker: Worker<unknown>;
  readonly #writer: OutcomeWriter;
  readonly #heartbeat: Heartbeat;
  readonly #context: TakenJobContext;
  readonly #runs: WatchedRuns;
  readonly #shortening: Closable;
  /** Over which jobs are taken. */
  readonly #connection: RedisClient;
  /** Jobs under way. */
  readonly #held = new Set<TakenJob>();
  readonly #isNews = createNoticeFilter();
  #isStopping = false;
  /** Whether a domain with which workers may be lost is under way. */
  #isAlone = false;
  /** The domain that is tried while the worker is sick. */
  #tried: string | undefined;
  /** The mean of the last jobs, in lookups. */
  #size = 50;
  /**
   * When what Redis has of jobs is as it was, or runs have put it right; never while it is away.
   */
  #settledAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: TakeJobsOptions) {
    const { redis, api, queue, concurrency, callsMade, findTrouble, maxPendingMs, onNotice } =
      options;
    this.#options = options;
    this.#queue = openQueue<unknown>(redis.client, queue);
    this.#writer = new OutcomeWriter(redis, this.#queue);
    this.#context = {
      writer: this.#writer,
      now: () => this.now(),
      maxPendingMs,
      wakeOthers: () => redis.client.zadd(this.#queue.toKey('marker'), 0, '0'),
    };
    this.#runs = new WatchedRuns(redis, (run) => this.#heldRuns().includes(run));
    const shorten = (): Promise<void> => shortenLocks(redis.client, this.#queue);
    this.#shortening = repeat(Math.ceil(LOCK_MS / 3), shorten);
    this.#connection = redis.connect();
    const work = (job: Job<unknown>, token = ''): Promise<void> => this.#take(job, token);
    this.#worker = new Worker<unknown>(queue, work, {
      ...QUEUE_OPTIONS,
      connection: this.#connection,
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
    this.#connection.on('close', this.#onAway).on('ready', this.#onBack);
    this.#worker.on('lockRenewalFailed', (ids: string[]) => this.#leave(ids));
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
    return this.#heldRuns().reduce<Rate | undefined>(
      (rate, run) => slower(rate, run?.rate),
      undefined,
    );
  }

  /**
   * Takes no more jobs, and gives those that are not done back to the queue once the lookups under
   * way have ended.
   *
   * @param why why the worker stops by itself, in a sentence, for those who wait
   */
  async stop(why?: string): Promise<void> {
    this.#isStopping = true;
    void this.#shortening.close();
    this.#connection.off('close', this.#onAway).off('ready', this.#onBack);
    const closing = this.#worker.close().then(() => this.#writer.flush());
    closing.catch(() => {}); // thrown below
    const isHeld = (): boolean => [...this.#held].some((taken) => taken.isHeld);
    while (isHeld()) await delay(TICK_MS, undefined, { ref: false });
    await within(GOODBYE_MS, closing); // a Redis that is away does not answer
    this.#writer.end();
    const sayGoodbye = async (): Promise<void> => {
      await Promise.all([this.#heartbeat.close(why), this.#runs.close(), this.#queue.close()]);
    };
    await within(GOODBYE_MS, sayGoodbye());
  }

  readonly #onAway = (): void => {
    this.#settledAtMs = Number.POSITIVE_INFINITY;
  };

  readonly #onBack = (): void => {
    this.#settledAtMs = Math.min(this.#settledAtMs, performance.now() + SETTLED_MS);
    const ids = Array.from(this.#held, ({ id }) => id);
    const tokens = Array.from(this.#held, ({ token }) => token);
    const extending = this.#worker.extendJobLocks(ids, tokens, LOCK_MS);
    extending.then((lost) => this.#leave(lost), this.#options.redis.refused);
  };

  /** Begins no more lookups of jobs that may be another worker's. */
  #leave(ids: readonly string[]): void {
    const lost = [...this.#held].filter(({ id }) => ids.includes(id));
    for (const taken of lost) taken.isLost = true;
    // A job that was just given back, or put off, has no lock any more.
    const isCut = lost.some(({ isHeld }) => isHeld);
    const what =
      'This worker was cut off from Redis for too long, or Redis knows less than it did: its jobs are left to others.';
    if (isCut && this.#isNews(what)) this.#options.onNotice(what);
  }

  /** What a job asks for. */
  async #dataOf({ id = '', data }: Job<unknown>): Promise<unknown> {
    if (performance.now() > this.#settledAtMs) return data;
    while (performance.now() < this.#settledAtMs && !this.#isEnding) await delay(TICK_MS);
    return parsed((await this.#options.redis.client.hget(this.#queue.toKey(id), 'data')) ?? '');
  }

  #heldRuns(): readonly (WatchedRun | undefined)[] {
    return Array.from(this.#held, ({ run }) => run);
  }

  get #isEnding(): boolean {
    return this.#isStopping || this.#options.signal.aborted;
  }

  get #isSick(): boolean {
    return this.#options.findTrouble?.() !== undefined;
  }

  /**
   * Enough that no caller is idle, though one waits for a last lookup, and no more: others may be.
   */
  #jobsAtOnce(): number {
    if (this.#isSick) return 1;
    const { concurrency, useful } = this.#options;
    const lookups = Math.min(4 * concurrency, useful());
    return Math.min(MOST_JOBS, 1 + Math.ceil(lookups / this.#size));
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

  async #take(job: Job<unknown>, token: string): Promise<void> {
    const data = parseLookups(await this.#dataOf(job));
    if (typeof data === 'string') throw new UnrecoverableError(data);
    const { id = '' } = job;
    const ownRun = runOf(id, data.run);
    const run = ownRun === undefined ? undefined : await this.#runs.watch(ownRun, id);
    const taken = new TakenJob({ job, token, data, run }, this.#context);
    if (taken.isLate) return await taken.giveBack();
    if (taken.isOver) return;
    if (run?.isPaused) return await taken.putOff(PAUSED_MS);
    if (taken.isAlone && this.#isAlone) return await taken.putOff(ALONE_MS);
    this.#size += (Math.max(1, data.domains.length) - this.#size) / 10;
    this.#held.add(taken);
    this.#isAlone ||= taken.isAlone;
    try {
      await this.#lookUp(taken);
    } finally {
      if (taken.isAlone) this.#isAlone = false;
      this.#held.delete(taken);
      this.#worker.concurrency = this.#jobsAtOnce();
    }
  }

  /** Looks up what it can, and finds out what becomes of the rest. */
  async #lookUp(taken: TakenJob): Promise<void> {
    const { handle, onNotice } = this.#options;
    await taken.lookUp(
      (chunk, reply) => handle(chunk, reply, (domain) => this.#isWanted(domain, taken)),
      (domain) => onNotice(`Each worker that looked up ${domain} was lost: it is given up.`),
    );
    if (taken.isAnswered && !taken.isLost) return;
    if (this.#isSick) this.#rest();
    const isOthers = this.#isEnding || this.#isSick || taken.isLost;
    if (isOthers || taken.isNext) await taken.giveBack();
    else if (taken.isPending) await taken.putOffPending();
    else if (!taken.isOver) await taken.putOff(PAUSED_MS);
  }

  /** Whether one more lookup of a job is to be made. A worker that is sick tries one. */
  #isWanted(domain: string, { isLost, run, isOver }: TakenJob): boolean {
    if (this.#isEnding || isLost || run?.isPaused || isOver) return false;
    if (!this.#isSick) return true;
    this.#tried ??= domain;
    return this.#tried === domain;
  }
}

/** The run of ours that added the job, which has a hash: without it nobody waits. */
function runOf(id: string, run: string | undefined): string | undefined {
  return run !== undefined && id.startsWith(runJobPrefix(run)) ? run : undefined;
}
