import { DAY_MS } from '../common/format.ts';
import type { Closable } from '../common/lifetime.ts';
import { ABSENT_MS, QUEUES_KEY, WORKERS_KEY } from './names.ts';
import { type RedisClient, repeat, timeOf } from './redis.ts';
import { parsed } from './run-board.ts';

/** The description that a worker gives of itself. */
export interface WorkerNotice {
  readonly host: string;
  readonly pid: number;
  /** The queue that it serves, which is that of its API. */
  readonly queue: string;
  /** The most calls that it makes at the same time. */
  readonly concurrency: number;
  /** HTTP requests made, if the worker counts them. */
  readonly calls?: number | undefined;
  /** Why it makes no calls although others do, in a sentence. */
  readonly trouble?: string | undefined;
  /** Lookups that it has taken and not finished, by run; the backfills' without one. */
  readonly runs: readonly { readonly run: string | undefined; readonly lookups: number }[];
  /** Why it stopped by itself, in a sentence. Kept for a day. */
  readonly stopped?: string | undefined;
}

export interface FoundWorker extends WorkerNotice {
  readonly id: string;
  /** When it was last heard of, by the clock of Redis, in milliseconds since 1970. */
  readonly seenMs: number;
}

/** Announces a worker until it is closed. */
export interface Heartbeat extends Closable {
  /** The time by the clock of Redis, in milliseconds since 1970; before it is known, by the machine's. */
  now(): number;
  /** Leaves a message for those who wait for lookups, in case no worker is left. */
  stopped(why: string): Promise<void>;
}

const HEARTBEAT_MS = 2_000;

/** @param onRefused called with the reason each time that an announcement fails */
export function announceWorker(
  client: RedisClient,
  id: string,
  describe: () => WorkerNotice,
  onRefused: (error: unknown) => void,
): Heartbeat {
  let aheadMs = 0;
  let isStopped = false;

  async function tell(more: Partial<WorkerNotice> = {}): Promise<void> {
    const seenMs = await timeOf(client);
    aheadMs = seenMs - Date.now();
    if (isStopped && more.stopped === undefined) return;
    const notice = { ...describe(), ...more, seenMs };
    // The name too, for a Redis that was emptied.
    await client
      .multi()
      .hset(WORKERS_KEY, id, JSON.stringify(notice))
      .sadd(QUEUES_KEY, notice.queue)
      .exec();
  }

  /** Why others stopped by themselves is of no interest once a worker has come. */
  async function forgetStops(): Promise<void> {
    const { queue } = describe();
    const stopped = (await readWorkers(client)).filter((each) => each.stopped !== undefined);
    const ids = stopped.filter((each) => each.queue === queue).map((each) => each.id);
    if (ids.length > 0) await client.hdel(WORKERS_KEY, ...ids);
  }

  forgetStops().catch(onRefused);
  const beating = repeat(HEARTBEAT_MS, tell, onRefused);
  return {
    now: () => Date.now() + aheadMs,
    stopped: async (why) => {
      isStopped = true;
      beating.close();
      await tell({ stopped: why, runs: [] });
    },
    close: async () => {
      beating.close();
      if (isStopped) return;
      isStopped = true;
      await client.hdel(WORKERS_KEY, id).catch(() => {}); // it then counts as gone a little later
    },
  };
}

/** The workers on all machines, as they describe themselves; those that stopped by themselves too. */
export async function readWorkers(client: RedisClient): Promise<readonly FoundWorker[]> {
  const [nowMs, notices] = await Promise.all([timeOf(client), client.hgetall(WORKERS_KEY)]);
  const gone: string[] = [];
  const found = Object.entries(notices).flatMap(([id, text]) => {
    const notice = parsed(text) as FoundWorker | undefined;
    const silentMs = nowMs - (notice?.seenMs ?? 0);
    if (notice && silentMs <= (notice.stopped === undefined ? ABSENT_MS : DAY_MS))
      return [{ ...notice, id }];
    gone.push(id);
    return [];
  });
  if (gone.length > 0) await client.hdel(WORKERS_KEY, ...gone);
  return found;
}

/** Who serves a queue. */
export interface Serving {
  readonly workers: number;
  /** The last that stopped by itself, if none is there. */
  readonly lastStop: FoundWorker | undefined;
  /** Other queues that have workers. */
  readonly others: readonly string[];
}

export async function findServing(client: RedisClient, queue: string): Promise<Serving> {
  const all = await readWorkers(client);
  const there = all.filter(({ stopped }) => stopped === undefined).map((worker) => worker.queue);
  const stops = all.filter((worker) => worker.queue === queue && worker.stopped !== undefined);
  const [lastStop] = stops.toSorted((a, b) => b.seenMs - a.seenMs);
  const workers = there.filter((name) => name === queue).length;
  return {
    workers,
    lastStop: workers > 0 ? undefined : lastStop,
    others: [...new Set(there.filter((name) => name !== queue))],
  };
}
