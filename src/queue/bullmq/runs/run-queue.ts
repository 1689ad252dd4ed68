import { once } from 'node:events';
import { type Job, Queue, Worker } from 'bullmq';
import type { CallCounters } from '../../../common/call-counters.ts';
import { unlessAborted } from '../../../common/unless-aborted.ts';
import { within } from '../../../common/within.ts';
import { createChange } from '../../change.ts';
import type { Chunk, LookupQueue, Pausable, Reply } from '../../lookup-queue.ts';
import { readLog } from '../chunks/outcome-log.ts';
import { type ChunkTaker, type TakeChunksOptions, takeChunks } from '../chunks/take-chunks.ts';
import { CONTRACT_VERSION, chunkId, type LookupsData, type OutcomesData } from '../contract.ts';
import {
  BULK_PRIORITY,
  CHUNK_OPTIONS,
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  runQueueName,
} from '../names.ts';
import { toOutcome } from '../outcome-data.ts';
import { createPatience } from '../server/patience.ts';
import { queueOptions } from '../traces.ts';
import { type CallsWatchOptions, watchCalls } from './calls-watch.ts';
import { holdBackWhilePaused } from './hold-back.ts';
import { markPaused, unmarkPaused } from './paused-runs.ts';
import { claimRun } from './run-ledger.ts';
import { createWatchdog } from './watchdog.ts';

export interface RunQueueOptions
  extends Pick<TakeChunksOptions, 'redis' | 'api' | 'concurrency' | 'normalize' | 'lockMs'>,
    CallsWatchOptions {
  /** The same for the same list on the same store: a run that was killed is taken up by its name. */
  readonly name: string;
  /** What the list is called, for people. @default its name is not known */
  readonly list?: string;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Domains on their way. The collector takes out what it keeps; what an earlier run gave out is put in. */
  readonly outstanding: Set<string>;
  /** How many lookups may be on their way. */
  readonly window: number;
  /** Told at the end of calls that no outcome tells of. */
  readonly onUntoldCalls?: (calls: Readonly<CallCounters>) => void;
  /** Fires when the run is stopped: what nobody has begun is taken back. */
  readonly signal: AbortSignal;
  /** Ends the wait for workers that have begun, and for a Redis that is away, after a stop. */
  readonly giveUp: AbortSignal;
  /** Says whether the run is paused. @default it never is */
  readonly control?: Pausable | undefined;
  readonly onNotice: (message: string) => void;
  /** Told whether there is a worker, as often as nothing moves. */
  readonly onAlone?: ((isAlone: boolean) => void) | undefined;
}

/** Outcomes that are written to the store at the same time. */
const REPLIES_AT_ONCE = 16;
/** How often, after a stop, what workers gave back is taken back from the queue. */
const WITHDRAW_MS = 500;
/** A Redis that is gone must not hold up the end of a run. */
const CLOSE_MS = 5_000;
const FAREWELL_MS = 3_000;
/** Nor a connection that has lost what went over it, which only shows after half a minute. */
const LAST_REPLY_MS = 1_500;

/**
 * The queue of one run over Redis. It may be killed at any point: the next run of the same name finds
 * in Redis what is out, and what has come back meanwhile.
 */
export async function openRunQueue(options: RunQueueOptions): Promise<LookupQueue> {
  const { redis, name, collect, outstanding, window, signal, giveUp, api, onNotice } = options;
  const { control, maxCalls } = options;
  const ledger = await claimRun({
    client: redis.client,
    name,
    list: options.list ?? 'a list',
    onTaken: () =>
      onNotice('The same list is being enriched on this store already; this run keeps apart.'),
  });
  const calls = await watchCalls(redis.client, ledger.runId, options);
  const replyTo = runQueueName(ledger.runId);
  const connection = redis.client;
  const traced = queueOptions(connection);
  const lookups = new Queue(LOOKUPS_QUEUE, { connection, ...traced });
  const replyQueue = new Queue<OutcomesData>(replyTo, { connection, ...traced });
  for (const queue of [lookups, replyQueue]) queue.on('error', () => {}); // told by the connection
  const patience = createPatience(onNotice);
  const change = createChange();
  /** Domains of a chunk that waits for room in the window. */
  const held = new Set<string>();
  let hasEnded = false;
  let working: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let progressAtMs = Date.now();
  for (const stop of [signal, giveUp]) stop.addEventListener('abort', change.tell);

  for (const domains of (await ledger.read()).values()) {
    for (const domain of domains) outstanding.add(domain);
  }

  /** Takes what workers have noted of a chunk. */
  async function collectLogged(chunk: string): Promise<void> {
    const { outcomes } = await readLog(redis.client, chunk);
    try {
      await collect(outcomes.map(toOutcome));
    } catch (error) {
      failure ??= { error };
      change.tell();
      throw error; // not acknowledged: the next run gets them
    }
  }

  async function keep(job: Job<OutcomesData>): Promise<void> {
    progressAtMs = Date.now();
    const { chunk } = job.data;
    await collectLogged(chunk);
    change.tell();
    await ledger.strike([chunk]);
  }

  // Replies that the predecessor had taken when it was killed would else come only when their locks
  // have run out.
  for (const job of await replyQueue.getActive()) await keep(job);

  const replies = new Worker<OutcomesData>(replyTo, keep, {
    connection: redis.connect(),
    ...traced,
    concurrency: REPLIES_AT_ONCE,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    removeOnComplete: { count: 0 },
    drainDelay: 1,
  });
  replies.on('error', () => {}); // told by what watches the connections

  async function give(domains: readonly string[]): Promise<void> {
    const id = chunkId(ledger.runId, domains);
    const data: LookupsData = {
      v: CONTRACT_VERSION,
      domains: [...domains],
      replyTo,
      api,
      ...(maxCalls === undefined ? {} : { maxCalls }),
    };
    const jobOptions = { ...CHUNK_OPTIONS, jobId: id, priority: BULK_PRIORITY };
    await patience.insist(async () => {
      await ledger.note(new Map([[id, domains]]));
      await lookups.add(LOOKUPS_JOB, data, jobOptions);
    }, giveUp);
  }

  const watchdog = createWatchdog({
    client: redis.client,
    api: options.api,
    lookups,
    ledger,
    outstanding,
    held,
    give,
    drop,
    signal,
    collect: async (outcomes) => {
      await collect(outcomes);
      change.tell();
    },
    collectLogged,
    onNotice,
    onAlone: options.onAlone,
    // What is held back is silent.
    progressAtMs: () => (holdBack?.isHolding ? Date.now() : progressAtMs),
  });

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !failure) await change.next();
    if (failure) throw failure.error;
  }

  const isDone = (): boolean =>
    (hasEnded && outstanding.size === 0) || giveUp.aborted || failure !== undefined;

  /** Takes chunks back that nobody has begun; gives the domains that are left of them. */
  async function withdraw(): Promise<readonly (readonly string[])[]> {
    const chunks = await ledger.read();
    const taken = [...chunks].map(async ([id, domains]) => {
      const job = await lookups.getJob(id);
      const isWithdrawn = await job?.remove().then(
        () => true,
        () => false, // a worker has it
      );
      if (!isWithdrawn && job) return [];
      // Its worker may have finished it just now, or an earlier one was lost amid it: striking it
      // takes its log away.
      await collectLogged(id);
      await ledger.strike([id]);
      return domains.filter((domain) => outstanding.has(domain));
    });
    return (await Promise.all(taken)).filter((domains) => domains.length > 0);
  }

  function drop(domains: readonly string[]): void {
    for (const domain of domains) outstanding.delete(domain);
    change.tell();
  }

  /** Has workers start no further call, and give back what they have not begun. */
  async function dropUnbegun(): Promise<void> {
    await markPaused(redis.client, ledger.runId);
    for (const domains of await withdraw()) drop(domains);
  }

  async function stopAfter(taker: ChunkTaker, end: Promise<void>): Promise<void> {
    try {
      await end;
    } finally {
      const stopped = taker.stop();
      if (!giveUp.aborted) await Promise.race([stopped, once(giveUp, 'abort')]);
      await within(FAREWELL_MS, stopped);
    }
  }

  const holdBack =
    control &&
    holdBackWhilePaused({
      client: redis.client,
      runId: ledger.runId,
      control,
      withdraw,
      give,
      drop,
      signal,
    });
  const stopListening = control?.onChange(change.tell);

  return {
    add: async (chunk: Chunk) => {
      for (const domain of chunk.domains) held.add(domain);
      await until(
        () =>
          (outstanding.size - chunk.domains.length < window && !control?.isPaused) ||
          signal.aborted,
      );
      if (signal.aborted) for (const domain of chunk.domains) outstanding.delete(domain);
      // Given up, it may be out: the next run looks for it.
      else await give(chunk.domains).catch(() => {});
      for (const domain of chunk.domains) held.delete(domain);
    },
    end: () => {
      hasEnded = true;
      change.tell();
    },
    work: async (handle) => {
      const taker = takeChunks({ ...options, handle });
      const ended = until(() => isDone() || signal.aborted);
      working = stopAfter(taker, Promise.race([ended, taker.ended]));
      await working;
    },
    settled: async () => {
      await until(() => isDone() || signal.aborted);
      if (!signal.aborted) return;
      await working;
      const ticker = setInterval(change.tell, WITHDRAW_MS);
      try {
        while (!isDone()) {
          // What Redis refuses now it may take the next time.
          await unlessAborted(dropUnbegun(), giveUp).catch(() => {});
          if (outstanding.size > 0) await change.next();
          hasEnded = true;
        }
      } finally {
        clearInterval(ticker);
      }
      if (failure) throw failure.error;
    },
    close: async () => {
      watchdog.close();
      calls.stop(); // at once: a Redis that is away holds up what follows
      stopListening?.();
      const isOver = outstanding.size === 0 && !failure;
      const isClosed = await within(CLOSE_MS, closeAll(isOver)).catch(() => false);
      // What a Redis that is away or refuses to write keeps, the next run of the name finds.
      if (!isClosed) void ledger.close(false).catch(() => {});
    },
  };

  async function closeAll(isOver: boolean): Promise<void> {
    await holdBack?.close();
    if (signal.aborted) await unmarkPaused(redis.client, ledger.runId);
    const stopped = replies.close();
    if (isOver) {
      // What its last replies were is kept: only their acknowledgement may still be under way.
      await within(LAST_REPLY_MS, stopped);
      await replyQueue.obliterate({ force: true });
    } else await stopped;
    await ledger.close(isOver);
    options.onUntoldCalls?.(await calls.takeUntold());
    await Promise.all([replyQueue.close(), lookups.close()]);
  }
}
