import { DAY_MS } from '../../../common/format.ts';
import { startHeartbeat } from '../../../common/owner.ts';
import { replyToOf } from '../contract.ts';
import { ABSENT_MS, findRunId, ledgerKey, OUTCOMES_QUEUE, PREFIX } from '../names.ts';
import { OPEN_FIELD } from '../runs/run-ledger.ts';
import { type RedisClient, timeOf } from '../server/redis.ts';

const KEY = `${PREFIX}:workers`;
const HEARTBEAT_MS = 2_000;

/** Announces a worker until it is closed. */
export interface Heartbeat {
  /** Resolves when the first announcement was made or refused. */
  readonly announced: Promise<void>;
  /**
   * The time by the clock of Redis, in milliseconds since 1970. Before it is known, by that of the
   * machine.
   */
  readonly now: () => number;
  close(): Promise<void>;
}

/** The description that a worker gives of itself. */
export interface WorkerNotice {
  readonly host: string;
  readonly pid: number;
  /** The API that it asks. */
  readonly api: string;
  /** The most calls that it makes at the same time. */
  readonly concurrency: number;
  /** HTTP requests made, if the worker counts them. */
  readonly calls?: number | undefined;
  /** Why it makes no calls although others do, in a sentence. */
  readonly trouble?: string | undefined;
  readonly holds: readonly HeldChunks[];
}

/** Chunks of one owner that a worker has taken and not finished. */
export interface HeldChunks {
  /** The run that waits for them. */
  readonly runId?: string | undefined;
  /** The queue for their outcomes when no run waits for them. */
  readonly replyTo?: string | undefined;
  readonly chunks: number;
  readonly lookups: number;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface AnnounceWorkerOptions {
  /** A unique id. */
  readonly id: string;
  readonly describe: () => WorkerNotice;
  /** Called with the reason each time that an announcement fails. */
  readonly onRefused?: (error: unknown) => void;
}

/** Announces a worker of this process. */
export function announceWorker(
  client: RedisClient,
  { id, describe, onRefused = () => {} }: AnnounceWorkerOptions,
): Heartbeat {
  let isClosed = false;
  let answered: { readonly nowMs: number; readonly atMs: number } | undefined;
  async function beat(): Promise<void> {
    const now = await timeOf(client);
    answered = { nowMs: now, atMs: performance.now() };
    if (isClosed) return;
    await client
      .multi()
      .zadd(KEY, now, id)
      .zremrangebyscore(KEY, '-inf', now - ABSENT_MS)
      .pexpire(KEY, ABSENT_MS)
      .set(noticeKey(id), JSON.stringify(describe()), 'PX', ABSENT_MS)
      .exec();
  }
  const heartbeat = startHeartbeat(HEARTBEAT_MS, beat, onRefused);
  return {
    announced: heartbeat.first.catch(() => {}),
    now: () =>
      answered ? Math.floor(answered.nowMs + performance.now() - answered.atMs) : Date.now(),
    close: async () => {
      isClosed = true;
      heartbeat.close();
      const leaving = client.multi().zrem(KEY, id).del(noticeKey(id)).exec();
      await leaving.catch(() => {}); // otherwise the announcement expires
    },
  };
}

/** How many workers there are on all machines. */
export async function countWorkers(client: RedisClient): Promise<number> {
  return await client.zcount(KEY, (await timeOf(client)) - ABSENT_MS, '+inf');
}

/** Whether there is a worker that asks an API. */
export async function isServed(client: RedisClient, api: string): Promise<boolean> {
  const { workers } = await readWorkers(client);
  return workers.some((worker) => worker.api === api);
}

/** The workers on all machines, as they describe themselves. */
export interface FoundWorkers {
  readonly workers: readonly FoundWorker[];
  /** The lists of the runs whose chunks they hold, by the id of the run. */
  readonly lists: ReadonlyMap<string, string>;
}

export interface FoundWorker extends WorkerNotice {
  readonly id: string;
}

export async function readWorkers(client: RedisClient): Promise<FoundWorkers> {
  const since = (await timeOf(client)) - ABSENT_MS;
  const ids = await client.zrange(KEY, since, '+inf', 'BYSCORE');
  if (ids.length === 0) return { workers: [], lists: new Map() };
  const notices = await client.mget(ids.map(noticeKey));
  const lists = new Map<string, string>();
  const workers = ids.flatMap((id, at) => {
    const notice = notices[at];
    return typeof notice === 'string' ? [{ ...(JSON.parse(notice) as WorkerNotice), id }] : [];
  });
  const runIds = new Set(workers.flatMap(({ holds }) => holds.flatMap(({ runId = [] }) => runId)));
  for (const runId of runIds) {
    const list = await client.hget(ledgerKey(runId), OPEN_FIELD);
    if (list !== null) lists.set(runId, list);
  }
  return { workers, lists };
}

function noticeKey(id: string): string {
  return `${PREFIX}:worker:${id}`;
}

/** Sums up the chunks that a worker has taken, by the run or queue that waits for them. */
interface HeldChunkSums {
  /** Adds a chunk. Returns a function that removes it when it is finished. */
  take(data: unknown): () => void;
  readonly sums: readonly HeldChunks[];
}

interface Held {
  readonly replyTo: string;
  readonly lookups: number;
  readonly sinceMs: number;
}

export function createHeldChunkSums(now: () => number): HeldChunkSums {
  const held = new Set<Held>();
  return {
    take: (data) => {
      const replyTo = replyToOf(data) ?? OUTCOMES_QUEUE;
      const { domains } = (data ?? {}) as { readonly domains?: unknown };
      const lookups = Array.isArray(domains) ? domains.length : 0;
      const chunk = { replyTo, lookups, sinceMs: now() };
      held.add(chunk);
      return () => void held.delete(chunk);
    },
    get sums() {
      const sums = new Map<string, HeldChunks>();
      for (const { replyTo, lookups, sinceMs } of held) {
        const sum = sums.get(replyTo);
        const runId = findRunId(replyTo);
        sums.set(replyTo, {
          ...(runId === undefined ? { replyTo } : { runId }),
          chunks: (sum?.chunks ?? 0) + 1,
          lookups: (sum?.lookups ?? 0) + lookups,
          sinceMs: Math.min(sum?.sinceMs ?? sinceMs, sinceMs),
        });
      }
      return [...sums.values()];
    },
  };
}

/** Why a worker stopped by itself. */
export interface StopNotice {
  /** For people, in a sentence. */
  readonly why: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A run that waits for longer can look at the workers itself. */
const KEPT_MS = DAY_MS;

/** Leaves a message for the runs that wait for lookups of an API, in case no worker is left. */
export async function publishStopNotice(
  client: RedisClient,
  api: string,
  why: string,
): Promise<void> {
  const notice: StopNotice = { why, atMs: await timeOf(client) };
  await client.set(keyOf(api), JSON.stringify(notice), 'PX', KEPT_MS);
}

/**
 * The message of the last worker that stopped by itself, unless another worker has started since.
 */
export async function findStopNotice(
  client: RedisClient,
  api: string,
): Promise<StopNotice | undefined> {
  const text = await client.get(keyOf(api));
  return typeof text === 'string' ? (JSON.parse(text) as StopNotice) : undefined;
}

/** A worker has started, so the message no longer applies. */
export async function dropStopNotice(client: RedisClient, api: string): Promise<void> {
  await client.del(keyOf(api));
}

function keyOf(api: string): string {
  return `${PREFIX}:last-words:${api}`;
}
