import { Cluster } from 'ioredis';
import { BrandfillError, type OnNotice } from '../../../common/errors.ts';
import { within } from '../../../common/lifetime.ts';
import { PREFIX } from '../names.ts';
import { openTraces, traceClient } from '../traces.ts';
import {
  describeEviction,
  evictionWarning,
  NO_EVICTION,
  openRedis,
  type RedisClient,
  type RedisServer,
} from './redis.ts';

export interface CheckServerOptions {
  readonly client: RedisClient;
  /** Whether to go on although the server may evict keys. */
  readonly acceptEviction: boolean;
  /** Called with warnings that do not prevent the use of the server. */
  readonly onWarning: (message: string) => void;
}

const OLDEST = [6, 2] as const;

/** Writes a key from a script, as BullMQ does. */
const PROBE = "return redis.call('set', KEYS[1], '1', 'px', 1000)";

const PROBE_KEY = `${PREFIX}:probe`;

/**
 * Makes sure that a Redis can carry a queue. It must know all commands that are used, be writable,
 * and refuse writes rather than evict keys when its memory is full.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`
 */
async function checkServer(options: CheckServerOptions): Promise<void> {
  const { client, acceptEviction, onWarning } = options;
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(nodes.map(async (node) => parseInfo(await node.info())));
  for (const info of infos) refuseOld(info);
  const eviction = infos
    .map((info) => info.get('maxmemory_policy'))
    .find((policy) => policy !== undefined && policy !== NO_EVICTION);
  if (eviction !== undefined) {
    if (!acceptEviction) {
      const { harm, cure } = describeEviction(eviction);
      throw new BrandfillError(
        'UNUSABLE_QUEUE',
        `Cannot use this Redis for the queue: ${harm}; ${cure}, or go on with --accept-eviction.`,
      );
    }
    onWarning(evictionWarning(eviction));
  }
  await tryRights(client);
  await client.eval(PROBE, 1, PROBE_KEY);
  const arePersistent = await Promise.all(
    infos.map(async (info, at) => await isPersistent(nodes[at] ?? client, info)),
  );
  if (arePersistent.includes(false)) {
    onWarning(
      'This Redis keeps nothing on disk: what waits in the queue is gone when it restarts. For a backlog that must survive, set it with: redis-cli config set appendonly yes',
    );
  }
}

/**
 * All other commands that we and BullMQ's scripts use on keys, by the least number of their
 * arguments. A user who lacks one right would find out in the middle of the work, and a script that
 * ends half way leaves a job without a state.
 */
const COMMANDS = [
  'exists get hgetall hkeys incr decr llen lpop mget persist pttl rpop scard smembers spop zcard zpopmin',
  'decrby expire hdel hexists hget hmget incrby lindex lpos lpush pexpire rpoplpush rpush sadd set srem zrem zscore',
  'hincrby hmset hset lrange lrem ltrim xtrim zadd zcount zrange zrangebyscore zremrangebyrank zremrangebyscore zrevrange zrevrangebyscore',
  'xadd',
];

/** Tries rights that a user may lack who may read, write and run scripts. */
async function tryRights(client: RedisClient): Promise<void> {
  await client.time();
  const trial = client.multi();
  // The name of the key is used for all arguments. Most commands can do nothing with it, and
  // anything written is deleted.
  for (const [more, names] of COMMANDS.entries()) {
    const args = Array<string>(more + 1).fill(PROBE_KEY);
    for (const name of names.split(' ')) trial.call(name, ...args);
  }
  await trial.call('evalsha', PROBE_KEY, 1, PROBE_KEY).del(PROBE_KEY).unlink(PROBE_KEY).exec();
  await client.bzpopmin(`${PROBE_KEY}:empty`, 0.01);
}

function refuseOld(info: ReadonlyMap<string, string>): void {
  if (info.has('valkey_version')) return;
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use this Redis for the queue: it is of version ${version || 'unknown'}, needed is 6.2 or later, or Valkey.`,
  );
}

/** Assumed when the server does not say. */
async function isPersistent(
  client: RedisClient,
  info: ReadonlyMap<string, string>,
): Promise<boolean> {
  if (info.get('aof_enabled') !== '0') return true;
  try {
    const [, save] = (await client.config('GET', 'save')) as [string?, string?];
    return save !== '';
  } catch {
    return true;
  }
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .split(/\r?\n/)
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}

interface QueueServerOptions {
  readonly url: string;
  /** Whether to go on although the server may evict keys. */
  readonly acceptEviction: boolean;
  /** Called with notices, each in full sentences. */
  readonly onNotice: OnNotice;
  /** Whether work on this server is traced when traces are enabled. @default true */
  readonly isTraced?: boolean;
}

/**
 * Connects to the Redis of a queue and makes sure that it can be used.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`
 */
export async function openQueueServer(options: QueueServerOptions): Promise<RedisServer> {
  const { url, acceptEviction, onNotice, isTraced = true } = options;
  const redis = await openRedis(url, {
    check: (client) => checkServer({ client, acceptEviction, onWarning: onNotice }),
    onTrouble: onNotice,
  });
  const traces = isTraced ? await openTraces(process.env, onNotice) : undefined;
  if (!traces) return redis;
  traceClient(redis.client, traces.telemetry);
  return {
    ...redis,
    close: async () => {
      await traces.flush();
      await redis.close();
    },
  };
}

/** Redis answers in a millisecond, and a health check must answer soon. */
const ANSWER_MS = 1_500;

/** Says that Redis does not answer; undefined when it does. */
export async function findRedisTrouble({ client, name }: RedisServer): Promise<string | undefined> {
  // Without a connection, a command would wait until there is one.
  const isThere = client.status === 'ready' && (await within(ANSWER_MS, ping(client)));
  return isThere ? undefined : `Redis at ${name} does not answer`;
}

async function ping(client: RedisServer['client']): Promise<void> {
  await client.ping().catch(() => new Promise<never>(() => {})); // time then runs out
}
