import { setTimeout as delay } from 'node:timers/promises';
import type {
  Chunk,
  HandleChunk,
  LookupQueue,
  Pausable,
  Reply,
  Stall,
} from '../calls/lookup-queue.ts';
import { BrandfillError } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { aborted, type Closable, within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';
import { findServing } from './board.ts';
import { type OutcomesData, toOutcome } from './contract.ts';
import { ALLOW_MS, GOODBYE_MS, SETTLED_MS, streamKey } from './names.ts';
import { StreamReader } from './read-stream.ts';
import { isAway, repeat } from './redis.ts';
import { RunHash, type RunHashOptions } from './run-bounds.ts';
import { RunJobs } from './run-jobs.ts';
import { JobTaker, type TakeJobsOptions } from './take-jobs.ts';

export interface RunQueueOptions
  extends Omit<RunHashOptions, 'started' | 'isPaused'>,
    Omit<TakeJobsOptions, 'handle' | 'maxPendingMs'> {
  /**
   * The same for the same list on the same store: a killed run is resumed by it. Letters, digits,
   * `.-_`.
   */
  readonly run: string;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Domains under way. The collector removes what it stores; those of an earlier run are added. */
  readonly outstanding: Set<string>;
  /** The most lookups on the queue and at workers. */
  readonly window: () => number;
  /** Called with domains that an earlier run left on the queue, before their outcomes come. */
  readonly onEarlier?: ((domains: readonly string[]) => void) | undefined;
  /** Called when a bound of the run is used up. */
  readonly onUsedUp: (bound: 'max_calls' | 'max_cost') => void;
  /**
   * Called when the run needs no worker any more, its own included, which may be at work for
   * others.
   */
  readonly onOver: () => void;
  /** Asked at the end: whether what was spent of the bounds counts for the next start. */
  readonly isInterrupted: () => boolean;
  /** Fires when the run is stopped: lookups that no worker has begun are then dropped. */
  readonly signal: AbortSignal;
  /** After a stop, ends the wait for workers and for a Redis that is away. */
  readonly giveUp: AbortSignal;
  /** Says whether the run is paused. */
  readonly control?: Pausable | undefined;
}

const LOOK_MS = 1_000;
/** Without outcomes for this long, it is looked whether the jobs are still there. */
const SILENT_MS = 2_000;
/** Then again after this time: the queue may be long. */
const SEARCH_MS = 3_000;
/**
 * A Redis that loses lookups more often than this, and brings no outcome meanwhile, is given up.
 */
const MOST_LOSSES = 3;

/** Opens the queue of a run, and takes up what an earlier start of it has left. */
export async function openRunQueue(options: RunQueueOptions): Promise<RunQueue> {
  const queue = new RunQueue(options);
  await queue.open();
  return queue;
}

/**
 * The queue of one run over Redis: its jobs go to the queue of the API, its outcomes come over its
 * stream, and its hash says that it is there.
 *
 *   open ──▶ what an earlier run left is taken up: its waiting jobs are removed, its stream is read
 *   add ───▶ on the queue ──▶ at a worker ──▶ outcomes on the stream ──▶ collected ──▶ trimmed
 *                │ lost by Redis, or removed by somebody: said, and added again, thrice in a row
 *                │ back in a Redis that knows less than it did: taken out of its job
 *   end, all outcomes there; or a stop ──▶ waiting jobs are removed, workers drop the rest
 *                                      ──▶ settled
 */
export class RunQueue implements LookupQueue {
  /** Why no outcome comes, as far as was found out. */
  stall: Stall | undefined;
  readonly #options: RunQueueOptions;
  readonly #jobs: RunJobs;
  readonly #hash: RunHash;
  readonly #stream: StreamReader;
  readonly #change = createChange();
  /** What goes on until it is closed. */
  readonly #going: Closable[] = [];
  #stopListening: (() => void) | undefined;
  /** How often Redis lost lookups, in a row, without an outcome between them. */
  #losses = 0;
  #progressAtMs = performance.now();
  /** When what Redis has of jobs is put right, after it was away. */
  #settledAtMs = Number.NEGATIVE_INFINITY;
  #searchedAtMs = Number.NEGATIVE_INFINITY;
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** What was said last of why no outcome comes. */
  #said: string | undefined;
  /** Whether a bound was used up at the last look, and nobody had a job. */
  #wasUsedUp = false;

  constructor(options: RunQueueOptions) {
    const { redis, run, signal, control } = options;
    this.#options = options;
    const started = Date.now().toString(36);
    this.#jobs = new RunJobs({ ...options, started });
    this.#hash = new RunHash({
      ...options,
      started,
      isPaused: () => control?.isPaused ?? false,
    });
    this.#stream = new StreamReader({
      client: redis.client,
      keys: new Set([streamKey(run)]),
      keep: async (entries) => await this.#receive(entries.map(({ data }) => data)),
      onFailure: (error) => this.#fail(error),
    });
    for (const stop of [signal, options.giveUp]) {
      stop.addEventListener('abort', this.#change.notify);
    }
  }

  async open(): Promise<void> {
    const { control } = this.#options;
    await this.#hash.open();
    await this.#stream.readToEnd();
    await this.#takeUpEarlier();
    this.#stream.start();
    const lookMs = this.#options.bounds.length > 0 ? ALLOW_MS : LOOK_MS;
    this.#going.push(repeat(lookMs, () => this.#hash.look()));
    this.#going.push(repeat(LOOK_MS, () => this.#look(), this.#options.redis.refused));
    this.#stopListening = control?.onChange(() => {
      this.#hash.write().catch(() => {}); // the next look does
    });
    this.#options.redis.client.on('ready', this.#onBack);
  }

  async add({ domains }: Chunk): Promise<void> {
    const { window, signal, outstanding } = this.#options;
    const hasRoom = (): boolean => {
      const { lookups } = this.#jobs;
      return lookups + domains.length <= window() || lookups === 0 || signal.aborted;
    };
    while (!hasRoom() && !this.#failure) await this.#change.wait();
    if (this.#failure) throw this.#failure.error;
    if (!signal.aborted) this.#jobs.give(domains);
    else for (const domain of domains) outstanding.delete(domain);
  }

  end(): void {
    this.#hasEnded = true;
    this.#change.notify();
  }

  async work(handle: HandleChunk): Promise<void> {
    const { redis, giveUp } = this.#options;
    const taker = new JobTaker({ ...this.#options, handle, maxPendingMs: 0 });
    await this.#untilOver();
    // Nothing can be given back to a Redis that is away.
    const waitMs = (): number => (isAway(redis.client) ? 0 : GOODBYE_MS);
    const stopping = taker.stop();
    this.#options.onOver();
    await Promise.race([stopping, aborted(giveUp).then(() => delay(waitMs()))]);
    this.#change.notify();
  }

  async settled(): Promise<void> {
    const { redis, signal, giveUp } = this.#options;
    await this.#untilOver();
    if (this.#failure) throw this.#failure.error;
    if (!signal.aborted || giveUp.aborted) return;
    const dropping = redis.insist(() => this.#drop(), giveUp).then(() => this.#awaitBegun());
    await Promise.race([dropping.catch(() => aborted(giveUp)), aborted(giveUp)]);
  }

  async close(): Promise<void> {
    const { redis, run, isInterrupted } = this.#options;
    const ending = this.#going.map((each) => each.close());
    this.#stopListening?.();
    redis.client.off('ready', this.#onBack);
    await this.#stream.close();
    const clean = async (): Promise<void> => {
      await Promise.all(ending); // they would write the hash again
      if (this.#jobs.lookups > 0) await this.#drop();
      // A worker that is being stopped may still send what it has: the next run then finds it.
      if (this.#jobs.lookups === 0) await redis.client.del(streamKey(run));
      await this.#hash.close(isInterrupted());
      await this.#jobs.queue.close();
    };
    if (isAway(redis.client)) return;
    await within(
      GOODBYE_MS,
      clean().catch(() => {}),
    );
  }

  /** Redis is back, perhaps with less than it knew. Workers come back too, a moment later. */
  readonly #onBack = (): void => {
    this.#progressAtMs = performance.now() + SILENT_MS;
    this.#settledAtMs = performance.now() + SETTLED_MS;
  };

  /** Until all outcomes are there, the run stops, or the queue fails. */
  async #untilOver(): Promise<void> {
    const { outstanding, signal, giveUp } = this.#options;
    const isDone = (): boolean => (this.#hasEnded && outstanding.size === 0) || giveUp.aborted;
    while (!isDone() && !signal.aborted && !this.#failure) await this.#change.wait();
  }

  #fail(error: unknown): void {
    this.#failure = { error };
    this.#change.notify();
  }

  async #receive(entries: readonly OutcomesData[]): Promise<void> {
    const all = entries.flatMap(({ outcomes }) => outcomes.map(toOutcome));
    if (all.length === 0) return;
    // They come again where Redis refuses to delete them.
    if (all.some(({ domain }) => this.#options.outstanding.has(domain))) this.#noteProgress();
    await this.#options.collect(all);
    this.#jobs.end(all.map(({ domain }) => domain));
    this.#change.notify();
  }

  #noteProgress(): void {
    this.#progressAtMs = performance.now();
    this.#losses = 0;
    if (this.stall) this.#options.onNotice('Outcomes come again.', { level: 'info' });
    this.stall = undefined;
    this.#said = undefined;
  }

  /** What no worker has begun is planned anew; what one has, comes over the stream. */
  async #takeUpEarlier(): Promise<void> {
    const { outstanding, onEarlier } = this.#options;
    await this.#jobs.remove(await this.#jobs.find('wait', 'prioritized', 'delayed', 'failed'));
    const domains = await this.#jobs.adopt('active');
    for (const domain of domains) outstanding.add(domain);
    if (domains.length > 0) onEarlier?.(domains);
  }

  async #look(): Promise<void> {
    const { signal, control } = this.#options;
    if (performance.now() < this.#settledAtMs) await this.#tidy();
    if (this.#jobs.lookups > 0) await this.#findUsedUp();
    await this.#jobs.turns.giveToOthers();
    const isSilent = performance.now() - this.#progressAtMs > SILENT_MS;
    if (!isSilent || this.#jobs.lookups === 0 || control?.isPaused) return;
    await this.#hash.write(); // or it is said why Redis takes nothing
    if (!signal.aborted) await this.#findLost();
    // Workers could not say that they are there.
    if (this.#options.redis.trouble() !== undefined) return;
    const [stall, advice = ''] = await this.#findStall();
    const notice = stall && `${stall.text}${advice}.`;
    if (notice !== undefined && notice !== this.#said) this.#options.onNotice(notice);
    this.#said = notice;
    this.stall = stall;
  }

  /** Takes out of jobs what is done by all that workers have sent. */
  async #tidy(): Promise<void> {
    await this.#stream.readToEnd();
    await this.#jobs.takeOutDone();
  }

  /**
   * What workers have taken of a bound may come back as long as one of the jobs is theirs, and a
   * moment after.
   */
  async #findUsedUp(): Promise<void> {
    const wasUsedUp = this.#wasUsedUp;
    const { usedUp } = this.#hash;
    this.#wasUsedUp = usedUp !== undefined && (await this.#jobs.find('active')).length === 0;
    if (usedUp === undefined || !this.#wasUsedUp || !wasUsedUp) return;
    await this.#stream.readToEnd();
    if (this.#jobs.lookups > 0) this.#options.onUsedUp(usedUp);
  }

  /** Finds jobs that are gone without an answer, and adds their lookups again. */
  async #findLost(): Promise<void> {
    if (performance.now() - this.#searchedAtMs < SEARCH_MS) return;
    this.#searchedAtMs = performance.now();
    const gone = await this.#jobs.findGone();
    if (gone.size === 0) return;
    await this.#stream.readToEnd(); // their last outcomes may just have come
    const lost = this.#jobs.domainsOf(gone);
    if (lost.length === 0 || this.#options.signal.aborted) return;
    await this.#jobs.remove([...gone]).catch(() => {}); // those that failed
    const what = `${countOf(lost.length, 'lookup')} ${lost.length === 1 ? 'was' : 'were'} gone from Redis without an answer (somebody removed them, or Redis was emptied, has evicted them or lost its memory)`;
    this.#losses += 1;
    if (this.#losses > MOST_LOSSES) {
      const message = `Cannot go on with the queue: ${what}, again and again; what was found is kept, run the same command again.`;
      return this.#fail(new BrandfillError('UNUSABLE_QUEUE', message));
    }
    this.#options.onNotice(`${what}; they are put on the queue again.`);
    for (let at = 0; at < lost.length; at += 50) this.#jobs.give(lost.slice(at, at + 50));
  }

  /**
   * Why nothing comes, with advice: the queue is paused, no worker is there, or all are at work for
   * others.
   */
  async #findStall(): Promise<readonly [stall?: Stall, advice?: string]> {
    const { redis, queue: name } = this.#options;
    const { queue } = this.#jobs;
    const { workers, lastStop, others } = await findServing(redis.client, name);
    if (await queue.isPaused()) {
      const text = `The queue '${name}' was paused through BullMQ`;
      return [{ why: 'queue', text }, ': nothing is taken from it until it is resumed there'];
    }
    if (workers === 0) {
      const at = new Date(lastStop?.seenMs ?? 0).toISOString();
      const stop = lastStop ? `. One stopped by itself at ${at}: ${lastStop.stopped}` : '';
      const names = others.map((other) => `'${other}'`).join(', ');
      const other =
        names &&
        `. This run's queue is '${name}'; there are workers of ${names}: it is of another API, or of a profile with other rules`;
      const text = 'No worker is there to make the lookups';
      const advice = `: start one with brandfill worker${stop}${other}`;
      return [{ why: 'no_worker', text }, advice.replace(/\.$/, '')];
    }
    const isIdle = (await queue.getActiveCount()) === 0;
    if (isIdle || (await this.#jobs.find('active')).length > 0) return [];
    const text = `The workers of the queue '${name}' are at work for other lists: this run waits for its turn`;
    return [{ why: 'queue', text }];
  }

  /** Makes workers drop what they have not begun, and takes the rest off the queue. */
  async #drop(): Promise<void> {
    await this.#hash.stop();
    const removed = await this.#jobs.remove(this.#jobs.ids);
    // A job that a worker gave back may be answered in part.
    await this.#stream.readToEnd();
    const dropped = this.#jobs.domainsOf(removed);
    this.#jobs.end(dropped);
    for (const domain of dropped) this.#options.outstanding.delete(domain);
  }

  /** After a stop, until workers have ended the lookups that they had begun. */
  async #awaitBegun(): Promise<void> {
    for (;;) {
      const active = new Set(await this.#jobs.find('active'));
      if (this.#jobs.ids.every((id) => !active.has(id))) break;
      await within(200, this.#change.wait());
    }
    await this.#stream.readToEnd();
    await this.#hash.look();
  }
}
