import { Cluster } from 'ioredis';
import { BrandfillError } from '../../../common/errors.ts';
import { PREFIX } from '../names.ts';
import { describeEviction, evictionWarning, NO_EVICTION } from './eviction.ts';
import type { RedisClient } from './redis.ts';

export interface CheckServerOptions {
  readonly client: RedisClient;
  /** Goes on although the server may throw keys away. */
  readonly acceptEviction: boolean;
  /** Told what is worth knowing but no obstacle. */
  readonly onWarning: (message: string) => void;
}

const OLDEST = [6, 2] as const;

/** Writes, and does so from a script, as BullMQ does all it does. */
const PROBE = "return redis.call('set', KEYS[1], '1', 'px', 1000)";

const PROBE_KEY = `${PREFIX}:probe`;

/**
 * Makes sure that a Redis can carry a queue: old enough to know all commands, writable, and set to
 * refuse writes rather than to throw keys away when its memory is full.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`
 */
export async function checkServer(options: CheckServerOptions): Promise<void> {
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
 * What else is done with keys, by us and in BullMQ's scripts, by how many arguments it must have at least. Who
 * lacks one right would learn of it amid the work, and a script that ends half way leaves a job in no state.
 */
const COMMANDS = [
  'exists get hgetall hkeys incr decr llen lpop mget persist pttl rpop scard smembers spop zcard zpopmin',
  'decrby expire hdel hexists hget hmget incrby lindex lpos lpush pexpire rpoplpush rpush sadd set srem zrem zscore',
  'hincrby hmset hset lrange lrem ltrim xtrim zadd zcount zrange zrangebyscore zremrangebyrank zremrangebyscore zrevrange zrevrangebyscore',
  'xadd',
];

/** What else a user may lack: rights that are given to read, to write and to run scripts do without. */
async function tryRights(client: RedisClient): Promise<void> {
  await client.time();
  const trial = client.multi();
  // The name of the key for whatever they want: most can do nothing with it, and what is done is deleted.
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

/** Taken for granted where the server does not tell. */
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
