import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { parseRedisUrl } from '../common/addresses.ts';
import type { OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import { LOCK_MS } from './lock-time.ts';
import { QUEUE_OPTIONS } from './names.ts';
import {
  createClient,
  nameOf,
  PATIENT,
  passwordsOf,
  type RedisClient,
} from './redis-connection.ts';
import { createTroubleWatch, type Patience } from './redis-trouble.ts';
import { tryRedis } from './try-redis.ts';

export type { RedisClient };

/** A Redis that can be reached and used. */
export interface RedisServer extends Patience {
  /**
   * One connection for all commands that do not block. It reconnects by itself, for as long as it
   * takes.
   */
  readonly client: RedisClient;
  /** Opens another connection. BullMQ wants one for each worker. */
  connect(): RedisClient;
  /** Host and port, or another name of the server. No credentials. */
  readonly name: string;
  /** Closes all connections, without waiting for a server that does not answer. */
  close(): Promise<void>;
}

interface QueueServerOptions {
  readonly url: string;
  /**
   * Called with notices, each in full sentences: when a connection is lost, and when it is back.
   */
  readonly onNotice: OnNotice;
}

/**
 * Connects to the Redis of a queue, once it is known that it can carry one.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`, as of `tryRedis`
 */
export async function openQueueServer(options: QueueServerOptions): Promise<RedisServer> {
  const { url, onNotice } = options;
  const address = parseRedisUrl(url);
  for (const password of passwordsOf(address)) keepSecret(password);
  const name = nameOf(address);
  await tryRedis(address, onNotice);
  const open = new Set<RedisClient>();
  const { watch, reconnectOnError, ...patience } = createTroubleWatch(name, onNotice);
  const connect = (): RedisClient => {
    const client = createClient(address, { ...PATIENT, reconnectOnError });
    open.add(client);
    client.once('end', () => open.delete(client));
    watch(client);
    return client;
  };
  return {
    client: connect(),
    connect,
    name,
    ...patience,
    close: async () => {
      for (const client of open) client.disconnect();
    },
  };
}

/** Opens a queue of BullMQ. Errors of the connection are reported elsewhere. */
export function openQueue<T>(client: RedisClient, name: string, isOurs = true): Queue<T> {
  const options = { connection: client, ...QUEUE_OPTIONS, skipMetasUpdate: !isOurs };
  const queue = new Queue<T>(name, options);
  queue.on('error', () => {});
  return queue;
}

/**
 * Has the jobs of lost workers found within seconds though the clock of Redis has gone back, as
 * after a failover: locks, and the pause until the next search, would last for so much longer.
 */
export async function shortenLocks(client: RedisClient, queue: Queue): Promise<void> {
  const locks = (await queue.getRanges(['active'], 0, -1)).map((id) => `${queue.toKey(id)}:lock`);
  const keys = [queue.toKey('stalled-check'), ...locks];
  const leftMs = await Promise.all(keys.map((key) => client.pttl(key)));
  const long = keys.filter((_, at) => (leftMs[at] ?? 0) > LOCK_MS);
  await Promise.all(long.map((key) => client.pexpire(key, LOCK_MS)));
}

/** Runs a script of Redis, which is sent once and then only named. */
export type Script = (
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

export function createScript(client: RedisClient, lua: string): Script {
  const name = createHash('sha1').update(lua).digest('hex');
  client.defineCommand(name, { lua });
  const run = Reflect.get(client, name) as (...given: unknown[]) => Promise<unknown>;
  return (keys, args) => run.call(client, keys.length, ...keys, ...args);
}

/**
 * Changes the data of a job, unless others have changed it. KEYS: the job, and its lock if it is to
 * be none that a worker has. ARGV: its data as they were, and as they are to be.
 */
export const CHANGE = `
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if redis.call('HGET', KEYS[1], 'data') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'data', ARGV[2])
return 1
`;

/**
 * Reads JSON that another process, perhaps of another version, has written; undefined if it is
 * none.
 */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Whether there is no connection: a command would wait until there is one. */
export function isAway(client: RedisClient): boolean {
  return client.status !== 'ready';
}

/** The clock of Redis, in milliseconds since 1970. The clocks of machines may differ. */
export async function timeOf(client: RedisClient): Promise<number> {
  const [seconds = 0, microseconds = 0] = await client.time();
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}

/** Does something again and again until it is closed. Closing waits for what is under way. */
export function repeat(
  everyMs: number,
  work: () => Promise<void>,
  onFailed: (error: unknown) => void = () => {},
): Closable {
  const closing = new AbortController();
  const { signal } = closing;
  const going = async (): Promise<void> => {
    while (!signal.aborted) {
      await work().catch(onFailed);
      await delay(everyMs, undefined, { signal }).catch(() => {}); // closed
    }
  };
  const over = going();
  return {
    close: async () => {
      closing.abort();
      await over;
    },
  };
}
