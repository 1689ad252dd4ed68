import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Cluster } from 'ioredis';
import type { RedisAddress } from '../common/addresses.ts';
import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { DAY_MS } from '../common/format.ts';
import { inTime } from '../common/lifetime.ts';
import { PREFIX } from './names.ts';
import { createClient, IMPATIENT, nameOf, type RedisClient } from './redis-connection.ts';
import { errorText, reasonOf, VAGUE } from './redis-errors.ts';

/** Bounds the whole check, however many hosts the address has and names have to be resolved. */
const CHECK_MS = 8_000;

/**
 * Makes sure that a Redis can carry a queue: it is new enough, refuses writes rather than evict
 * keys when its memory is full, may be written to, and its user may do what it takes.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE` that says in one sentence why it cannot be used
 */
export async function tryRedis(address: RedisAddress, onNotice: OnNotice): Promise<void> {
  const probe = createClient(address, IMPATIENT);
  // The thrown error often says only that the connection is closed. The reason comes in events.
  const errors: unknown[] = [];
  const nodeErrors: unknown[] = [];
  probe.on('error', (error: unknown) => errors.push(error));
  for (const event of ['node error', 'sentinelError']) {
    probe.on(event, (error: unknown) => nodeErrors.push(error));
  }
  const tryAll = async (): Promise<void> => {
    await probe.connect();
    // A database that does not exist is only reported in an event, and another one is used instead.
    if (errors.length > 0) throw errors[0];
    await checkServer(probe, onNotice);
  };
  try {
    await inTime(CHECK_MS, tryAll());
  } catch (error) {
    if (error instanceof BrandfillError) throw error;
    throw await unusable(address, [error, ...errors, ...nodeErrors]);
  } finally {
    probe.disconnect();
  }
}

const OLDEST = [6, 2] as const;

/** Writes a key from a script, as BullMQ does. */
const PROBE = "return redis.call('set', KEYS[1], '1', 'px', 1000)";
const PROBE_KEY = `${PREFIX}:probe`;
/** There while it needs not be told again that a Redis keeps no log. */
const TOLD_KEY = `${PROBE_KEY}:no-log`;

async function checkServer(client: RedisClient, onNotice: OnNotice): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  for (const node of nodes) {
    const info = parseInfo(await node.info());
    refuseOld(info);
    refuseEviction(info.get('maxmemory_policy'));
    if (info.get('aof_enabled') !== '0') continue;
    if ((await client.set(TOLD_KEY, '1', 'PX', DAY_MS, 'NX')) === null) continue;
    onNotice(
      'This Redis keeps no log (appendonly): what came to the queue since its last snapshot is gone when it restarts. For a backlog that must survive, set it with: redis-cli config set appendonly yes',
    );
  }
  await tryRights(client);
}

function refuseOld(info: ReadonlyMap<string, string>): void {
  if (info.has('valkey_version')) return;
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  refuse(`it is of version ${version || 'unknown'}, needed is 6.2 or later, or Valkey.`);
}

/**
 * Outcomes of runs and the locks of jobs have a time to live: `volatile-…` policies throw them
 * away, too.
 */
function refuseEviction(policy = 'noeviction'): void {
  if (policy === 'noeviction') return;
  refuse(
    `its maxmemory-policy is ${policy}: when its memory is full it throws lookups or outcomes away; set it with: redis-cli config set maxmemory-policy noeviction.`,
  );
}

function refuse(why: string): never {
  throw new BrandfillError('UNUSABLE_QUEUE', `Cannot use this Redis for the queue: ${why}`);
}

/**
 * Tries one command of each kind that we and BullMQ use: a user who lacks a right would find out in
 * the middle of the work, and a script that ends half way leaves a job without a state.
 */
async function tryRights(client: RedisClient): Promise<void> {
  await client.time();
  const trial = client.multi().get(PROBE_KEY).hgetall(PROBE_KEY).lpop(PROBE_KEY).spop(PROBE_KEY);
  trial.zcard(PROBE_KEY).xadd(PROBE_KEY, '*', 'a', '1').xdel(PROBE_KEY, '0-1');
  trial.pexpire(PROBE_KEY, 1_000).evalsha(PROBE_KEY, 1, PROBE_KEY).del(PROBE_KEY);
  await trial.exec();
  await client.bzpopmin(`${PROBE_KEY}:empty`, 0.01);
  await client.eval(PROBE, 1, PROBE_KEY);
}

/** @throws why Redis takes nothing, though it may be read */
export async function tryWriting(client: RedisClient): Promise<void> {
  await client.set(PROBE_KEY, '1', 'PX', 1_000);
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.replace(/:.*/, ''), line.replace(/^[^:]*:/, '')]));
}

async function unusable(
  address: RedisAddress,
  errors: readonly unknown[],
): Promise<BrandfillError> {
  const find = (isTold: (text: string) => boolean) => errors.find((one) => isTold(errorText(one)));
  const told =
    find((text) => !VAGUE.test(text)) ?? find((text) => /timed out|no answer/.test(text));
  const cause = told ?? errors[0];
  const seen = BROKEN_OFF.test(errorText(cause)) ? await lookCloser(address) : undefined;
  return new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use the queue on Redis at ${nameOf(address)}: ${reasonOf(seen ?? cause)}.`,
    { cause },
  );
}

/** Errors of a connection that came to nothing, for whatever reason. */
const BROKEN_OFF = /Connection is closed|ECONNRESET|EPIPE|socket|ETIMEDOUT/i;
const LOOK_MS = 1_000;
/** A Redis that has too many clients says so unasked, which may be lost when it is asked. */
const UNASKED_MS = 100;

/**
 * What a bare connection shows, where ioredis only learns that its own came to nothing; undefined
 * where that is no more. Sentinels have words of their own.
 */
async function lookCloser(address: RedisAddress): Promise<string | undefined> {
  if (address.kind === 'cluster' || 'sentinels' in address.options) return undefined;
  const { host = '', port = 0, path, tls } = address.options;
  const at = path === undefined ? { host, port } : { path };
  const plain = connect(at);
  setTimeout(() => plain.write('PING\r\n'), UNASKED_MS);
  const said = await firstOf(plain, 'data');
  if (said === 'silent') return 'no answer';
  if (tls) return /^[+-]/.test(said) ? 'TLS is not spoken' : undefined;
  if (said.startsWith('-')) return said;
  const secure = await firstOf(connectTls({ ...at, rejectUnauthorized: false }), 'secureConnect');
  return secure === 'undefined' ? 'TLS is wanted' : undefined;
}

/** With what an event of a connection comes, if it does before all is over. Ends the connection. */
function firstOf(socket: Socket, event: 'data' | 'secureConnect'): Promise<string> {
  return new Promise<string>((resolve) => {
    socket.once(event, (said: unknown) => resolve(String(said)));
    socket.once('close', () => resolve('closed'));
    socket.on('error', () => {}); // it is closed next
    setTimeout(() => resolve(socket.connecting ? 'closed' : 'silent'), LOOK_MS);
  }).finally(() => socket.destroy());
}
