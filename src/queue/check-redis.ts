import { Cluster } from 'ioredis';
import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import { PREFIX } from './names.ts';
import { isAway, openRedis, type RedisClient, type RedisServer } from './redis.ts';

const OLDEST = [6, 2] as const;

/** Writes a key from a script, as BullMQ does. */
const PROBE = "return redis.call('set', KEYS[1], '1', 'px', 1000)";
const PROBE_KEY = `${PREFIX}:probe`;

interface QueueServerOptions {
  readonly url: string;
  /** Called with notices, each in full sentences. */
  readonly onNotice: OnNotice;
}

/**
 * Connects to the Redis of a queue and makes sure that it can carry one: it is new enough, refuses
 * writes rather than evict keys when its memory is full, may be written to, and its user may do what it
 * takes.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`
 */
export async function openQueueServer(options: QueueServerOptions): Promise<RedisServer> {
  const { url, onNotice } = options;
  return await openRedis(url, {
    check: async (client) => {
      const nodes = client instanceof Cluster ? client.nodes('master') : [client];
      for (const node of nodes) {
        const info = parseInfo(await node.info());
        refuseOld(info);
        refuseEviction(info.get('maxmemory_policy'));
        if (await isPersistent(node, info)) continue;
        onNotice(
          'This Redis keeps nothing on disk: what waits in the queue is gone when it restarts. For a backlog that must survive, set it with: redis-cli config set appendonly yes',
        );
      }
      await tryRights(client);
    },
    onTrouble: onNotice,
  });
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

/** What waits in the queue has no time to live, so policies for what has one leave it alone. */
function refuseEviction(policy = 'noeviction'): void {
  if (policy === 'noeviction' || policy.startsWith('volatile-')) return;
  throw new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use this Redis for the queue: its maxmemory-policy is ${policy}: when its memory is full it throws lookups away; set it with: redis-cli config set maxmemory-policy noeviction.`,
  );
}

/**
 * Tries one command of each kind that we and BullMQ use: a user who lacks a right would find out in the
 * middle of the work, and a script that ends half way leaves a job without a state.
 */
async function tryRights(client: RedisClient): Promise<void> {
  await client.time();
  const trial = client.multi().get(PROBE_KEY).hgetall(PROBE_KEY).lpop(PROBE_KEY).spop(PROBE_KEY);
  trial.zcard(PROBE_KEY).xadd(PROBE_KEY, '*', 'a', '1').xtrim(PROBE_KEY, 'MAXLEN', 0);
  trial.pexpire(PROBE_KEY, 1_000).evalsha(PROBE_KEY, 1, PROBE_KEY).del(PROBE_KEY);
  await trial.exec();
  await client.bzpopmin(`${PROBE_KEY}:empty`, 0.01);
  await client.eval(PROBE, 1, PROBE_KEY);
}

/** Assumed when the server does not say. */
async function isPersistent(
  node: RedisClient,
  info: ReadonlyMap<string, string>,
): Promise<boolean> {
  if (info.get('aof_enabled') !== '0') return true;
  const found = await node.config('GET', 'save').catch(() => []);
  return (found as readonly string[])[1] !== '';
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.replace(/:.*/, ''), line.replace(/.*?:/, '')]));
}

/** Redis answers in a millisecond, and a health check must answer soon. */
const ANSWER_MS = 1_500;

/** Says that Redis does not answer; undefined when it does. */
export async function findRedisTrouble({ client, name }: RedisServer): Promise<string | undefined> {
  const ping = async (): Promise<void> => {
    await client.ping().catch(() => new Promise<never>(() => {})); // time then runs out
  };
  const isThere = !isAway(client) && (await within(ANSWER_MS, ping()));
  return isThere ? undefined : `Redis at ${name} does not answer`;
}
