import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { BrandfillError } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { aborted, within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';
import { findServing } from './board.ts';
import type { RunBounds, StartedRun } from './call-ledger.ts';
import { type LookupsData, type OutcomesData, parseLookups, toOutcome } from './contract.ts';
import type { LookupQueue, Pausable, Reply } from './lookup-queue.ts';
import {
  KEPT_MS,
  LOOKUPS_JOB,
  QUEUES_KEY,
  RUN_PRIORITY,
  runJobPrefix,
  runKey,
  SHUTDOWN_TIMEOUT_MS,
  streamKey,
} from './names.ts';
import { readStream } from './read-stream.ts';
import { isAway, openQueue, repeat } from './redis.ts';
import { type TakeJobsOptions, takeJobs } from './take-jobs.ts';

export interface RunQueueOptions
  extends RunBounds,
    Omit<TakeJobsOptions, 'handle' | 'maxPendingMs'> {
  /** The same for the same list on the same store: a killed run is resumed by it. Letters, digits, `.-_`. */
  readonly run: string;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Domains under way. The collector removes what it stores; those of an earlier run are added. */
  readonly outstanding: Set<string>;
  /** The most lookups on the queue and at workers. */
  readonly window: number;
  /** Called with domains that an earlier run left on the queue, before their outcomes come. */
  readonly onEarlier?: ((domains: readonly string[]) => void) | undefined;
  /**
   * Called with what workers have spent of a bound since this start, before `onUsedUp` and at each look: calls
   * of lookups that are given up come with no outcome.
   */
  readonly onSpent: (spent: { readonly calls: number; readonly billedMicros: number }) => void;
  /** Called when a bound of the run is used up. */
  readonly onUsedUp: (bound: 'max_calls' | 'max_cost') => void;
  /** Called with whether no worker is there, at each look while no outcomes come. */
  readonly onAlone?: ((isAlone: boolean) => void) | undefined;
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
/** So soon after a loss all who are at work have said how much they took: they ask again every second. */
const SHARES_MS = 2_500;
/** A job whose adding was not answered is added again after an outage, when it may be done: not within this time. */
const SENT_AGAIN_MS = 600_000;
/** Without outcomes for this long, it is looked whether the jobs are still there. */
const SILENT_MS = 2_000;
/** A Redis that loses lookups more often than this, and brings no outcome meanwhile, is given up. */
const MOST_LOSSES = 3;

/**
 * The queue of one run over Redis: its jobs go to the queue of the API, its outcomes come over its
 * stream, and its hash says that it is there.
 *
 *   open ──▶ what an earlier run left is taken up: its waiting jobs are removed, its stream is read
 *   add ───▶ on the queue ──▶ at a worker ──▶ outcomes on the stream ──▶ collected ──▶ trimmed
 *                │ lost by Redis, or removed by somebody: said, and added again, three times in a row at most
 *   end, all outcomes there; or a stop ──▶ waiting jobs are removed, workers drop the rest ──▶ settled
 */
export async function openRunQueue(options: RunQueueOptions): Promise<LookupQueue> {
  const { redis, run, collect, outstanding, window, control, signal, giveUp, onNotice } = options;
  const { client, insist } = redis;
  const queue = openQueue<LookupsData>(client, options.queue);
  const change = createChange();
  /** The jobs of domains that are on the queue or at workers. */
  const jobOf = new Map<string, string>();
  /** Jobs that may not be in Redis yet: it was away, and is asked again. */
  const onTheirWay = new Set<string>();
  let losses = 0; // in a row, without an outcome between them
  const started = Date.now().toString(36);
  const { maxCalls, maxCost, rate } = options;
  const bounds = JSON.stringify({ maxCalls, maxCost, rate, started } satisfies StartedRun);
  const key = runKey(run);
  let count = 0;
  let progressAtMs = performance.now();
  let hasEnded = false;
  let failure: { readonly error: unknown } | undefined;

  const openJobs = (): string[] => [...new Set(jobOf.values())];
  const paused = (): string => (control?.isPaused ? '1' : '0');

  /**
   * Writes the hash, by which workers know that somebody waits.
   *
   * @param lost what workers had counted in one that is gone
   */
  async function writeHash(lost: object = {}): Promise<void> {
    const writing = client.multi();
    if (Object.keys(lost).length > 0) writing.set(`${key}:lost`, '1', 'PX', SHARES_MS);
    await writing
      .sadd(QUEUES_KEY, queue.name)
      .hset(key, { ...lost, bounds, paused: paused() })
      .pexpire(key, KEPT_MS)
      .exec();
  }

  /** Not awaited: the window says how many are on their way. */
  function give(domains: readonly string[]): void {
    count += 1;
    const jobId = `${runJobPrefix(run)}${started}-${count}`;
    const data: LookupsData = { domains, run };
    for (const domain of domains) jobOf.set(domain, jobId);
    const deduplication = { id: jobId, ttl: SENT_AGAIN_MS };
    const opts = { priority: RUN_PRIORITY, jobId, deduplication };
    const add = async () => void (await queue.add(LOOKUPS_JOB, data, opts));
    onTheirWay.add(jobId);
    insist(add, signal).then(
      () => onTheirWay.delete(jobId),
      () => {}, // stopped
    );
  }

  async function receive(entries: readonly OutcomesData[]): Promise<void> {
    const all = entries.flatMap(({ outcomes }) => outcomes.map(toOutcome));
    if (all.length === 0) return;
    progressAtMs = performance.now();
    losses = 0;
    await collect(all);
    for (const { domain } of all) jobOf.delete(domain);
    change.notify();
  }

  /** The jobs of this run, whichever start of it or worker has added them. */
  async function findJobs(...states: Parameters<Queue['getRanges']>[0]): Promise<string[]> {
    const ids = await queue.getRanges(states, 0, -1);
    return ids.filter((id) => id.startsWith(runJobPrefix(run)));
  }

  /** Takes up jobs of an earlier run, and parts of jobs that were split. */
  async function adopt(...states: Parameters<typeof findJobs>): Promise<readonly string[]> {
    const adopted: string[] = [];
    for (const id of await findJobs(...states)) {
      const text = await client.hget(queue.toKey(id), 'data');
      const data = text === null ? '' : parseLookups(JSON.parse(text));
      if (typeof data === 'string') continue;
      for (const domain of data.domains) jobOf.set(domain, id);
      adopted.push(...data.domains);
    }
    return adopted;
  }

  /** What no worker has begun is planned anew; what one has, comes over the stream. */
  async function takeUpEarlier(): Promise<void> {
    await remove(await findJobs('wait', 'prioritized', 'delayed', 'failed'));
    const domains = await adopt('active');
    for (const domain of domains) outstanding.add(domain);
    if (domains.length > 0) options.onEarlier?.(domains);
  }

  /** @returns those that are not at a worker, and are gone now */
  async function remove(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const removed = await Promise.all(ids.map((id) => queue.remove(id)));
    return new Set(ids.filter((_, at) => removed[at] === 1));
  }

  /** Jobs that are not there, or failed and will not be split. */
  async function findGone(): Promise<ReadonlySet<string>> {
    const ids = openJobs().filter((id) => !onTheirWay.has(id));
    const pipeline = client.pipeline();
    for (const id of ids) pipeline.hmget(queue.toKey(id), 'name', 'failedReason');
    const found = (await pipeline.exec()) ?? [];
    const isGone = (_: string, at: number): boolean => {
      const [name, reason] = (found[at]?.[1] ?? []) as (string | null)[];
      return name === null || (typeof reason === 'string' && !reason.includes('stalled'));
    };
    return new Set(ids.filter(isGone));
  }

  /** Finds jobs that are gone without an answer, and adds their lookups again. */
  async function findLost(): Promise<void> {
    const gone = await findGone();
    if (gone.size === 0) return;
    await stream.readToEnd(); // their last outcomes may just have come
    await adopt('active', 'wait', 'prioritized', 'delayed'); // or they were split
    const lost = [...jobOf].flatMap(([domain, id]) => (gone.has(id) ? [domain] : []));
    if (lost.length === 0 || signal.aborted) return;
    await remove([...gone]).catch(() => {}); // those that failed
    const what = `${countOf(lost.length, 'lookup')} were gone from Redis without an answer (somebody removed them, or Redis was emptied, has evicted them or lost its memory)`;
    losses += 1;
    if (losses > MOST_LOSSES) {
      const message = `Cannot go on with the queue: ${what}, again and again; what was found is kept, run the same command again.`;
      failure = { error: new BrandfillError('UNUSABLE_QUEUE', message) };
      return change.notify();
    }
    onNotice(`${what}; they are put on the queue again.`);
    for (let at = 0; at < lost.length; at += 50) give(lost.slice(at, at + 50));
  }

  let counted: Readonly<Record<string, string>> = {};
  let spentBefore: { readonly calls: number; readonly micros: number } | undefined;
  /** Reads what of the bounds is spent, by earlier starts too, and keeps the hash for as long as the run lives. */
  async function readHash(): Promise<NonNullable<typeof spentBefore>> {
    const [kept] = await Promise.all([client.hgetall(key), client.pexpire(key, KEPT_MS)]);
    const isLost = kept['bounds'] === undefined; // Redis was emptied, or this is the start
    if (!isLost) counted = kept;
    if (isLost) await writeHash(counted);
    else if (kept['bounds'] !== bounds || kept['paused'] !== paused()) await writeHash();
    const spent = { calls: Number(counted['calls'] ?? 0), micros: Number(counted['micros'] ?? 0) };
    spentBefore ??= spent;
    options.onSpent({
      calls: spent.calls - spentBefore.calls,
      billedMicros: spent.micros - spentBefore.micros,
    });
    return spent;
  }

  /** What workers have taken of a bound may come back as long as one of the jobs is theirs. */
  async function findUsedUp(calls: number, micros: number): Promise<void> {
    const { micros: most = Infinity, perCall = 0 } = maxCost ?? {};
    const isCost = micros + perCall > most;
    if (calls < (maxCalls ?? Infinity) && !isCost) return;
    if ((await findJobs('active')).length > 0) return;
    await stream.readToEnd();
    if (jobOf.size > 0) options.onUsedUp(isCost ? 'max_cost' : 'max_calls');
  }

  let wasPaused = false;
  let reported: string | undefined;
  async function look(): Promise<void> {
    const { calls, micros } = await readHash();
    if (jobOf.size > 0) await findUsedUp(calls, micros);
    const isSilent = performance.now() - progressAtMs > SILENT_MS;
    if (!isSilent || jobOf.size === 0 || control?.isPaused) return;
    if (!signal.aborted) await findLost();
    const isPaused = await queue.isPaused();
    if (isPaused !== wasPaused) {
      onNotice(
        isPaused
          ? `The queue '${queue.name}' was paused through BullMQ: nothing is taken from it until it is resumed there.`
          : `The queue '${queue.name}' is no longer paused.`,
      );
    }
    wasPaused = isPaused;
    if (!isPaused) await lookForWorkers();
  }

  async function lookForWorkers(): Promise<void> {
    const { workers, lastStop, others } = await findServing(client, queue.name);
    options.onAlone?.(workers === 0);
    const why = lastStop?.stopped;
    const at = new Date(lastStop?.seenMs ?? 0).toISOString();
    const stop = why === undefined ? '' : ` One stopped by itself at ${at}: ${why}`;
    const names = others.map((name) => `'${name}'`).join(', ');
    const other =
      names &&
      ` This run's queue is '${queue.name}'; there are workers of ${names}: it is of another API, or of a profile with other rules.`;
    const words = stop + other;
    if (workers === 0 && reported !== words) {
      onNotice(`No worker is there to make the lookups: start one with brandfill worker.${words}`);
    }
    reported = workers === 0 ? words : undefined;
  }

  const isDone = (): boolean => (hasEnded && outstanding.size === 0) || giveUp.aborted;

  /** Makes workers drop what they have not begun, and takes the rest off the queue. */
  async function drop(): Promise<void> {
    await client.hset(key, 'stopped', '1');
    const removed = await remove(openJobs());
    for (const [domain, id] of jobOf) {
      if (!removed.has(id)) continue;
      jobOf.delete(domain);
      outstanding.delete(domain);
    }
  }

  /** After a stop, until workers have ended the lookups that they had begun. */
  async function awaitBegun(): Promise<void> {
    for (;;) {
      const active = new Set(await findJobs('active'));
      if (openJobs().every((id) => !active.has(id))) break;
      await within(200, change.wait());
    }
    await stream.readToEnd();
    await readHash();
  }

  const stream = readStream({
    client,
    places: new Map([[streamKey(run), '0-0']]),
    keep: async (entries) => await receive(entries.map(({ data }) => data)),
    onFailure: (error) => {
      failure = { error };
      change.notify();
    },
  });
  await client.hdel(key, 'stopped'); // by an earlier start
  await readHash();
  await stream.readToEnd();
  await takeUpEarlier();
  stream.start();
  const looking = repeat(LOOK_MS, look);
  const stopListening = control?.onChange(() => {
    writeHash().catch(() => {}); // the next look does
  });
  for (const stop of [signal, giveUp]) stop.addEventListener('abort', change.notify);

  return {
    add: async (chunk) => {
      const room = (): boolean =>
        jobOf.size + chunk.domains.length <= window || jobOf.size === 0 || signal.aborted;
      while (!room() && !failure) await change.wait();
      if (failure) throw failure.error;
      if (signal.aborted) {
        for (const domain of chunk.domains) outstanding.delete(domain);
        return;
      }
      give(chunk.domains);
    },
    end: () => {
      hasEnded = true;
      change.notify();
    },
    work: async (handle) => {
      const taker = takeJobs({ ...options, handle, maxPendingMs: 0 });
      while (!isDone() && !signal.aborted && !failure) await change.wait();
      // Nothing can be given back to a Redis that is away.
      const patience = aborted(giveUp).then(() => delay(isAway(client) ? 0 : SHUTDOWN_TIMEOUT_MS));
      await Promise.race([taker.stop(), patience]);
      change.notify();
    },
    settled: async () => {
      while (!isDone() && !signal.aborted && !failure) await change.wait();
      if (failure) throw failure.error;
      if (!signal.aborted || giveUp.aborted) return;
      const dropping = insist(drop, giveUp).then(awaitBegun);
      await Promise.race([dropping.catch(() => aborted(giveUp)), aborted(giveUp)]);
    },
    close: async () => {
      void looking.close();
      stopListening?.();
      await stream.close();
      const clean = async (): Promise<void> => {
        await looking.close(); // it would write the hash again
        if (jobOf.size > 0) await drop();
        // A worker that is being stopped may still send what it has: the next run then finds it.
        if (jobOf.size === 0) await client.del(streamKey(run));
        const isBounded = maxCalls !== undefined || maxCost !== undefined;
        if (isBounded && options.isInterrupted()) await client.hset(key, 'stopped', '1');
        else await client.del(key);
        await queue.close();
      };
      if (isAway(client)) return;
      await within(
        SHUTDOWN_TIMEOUT_MS,
        clean().catch(() => {}),
      );
    },
  };
}
