import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Cluster, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from '../common/addresses.ts';
import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { type Closable, unlessAborted } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import { PREFIX, QUEUE_OPTIONS, RETRY_MS } from './names.ts';
import { createNoticeFilter, errorText, isReply, reasonOf, VAGUE } from './redis-errors.ts';

/** A connection to a Redis of any kind. */
export type RedisClient = Redis | Cluster;

/** Patience with what Redis refuses for now. */
interface Patience {
  /**
   * Repeats work that Redis refuses, for as long as it takes.
   *
   * @throws the signal's reason when it fires first. The work under way may still be done.
   */
  readonly insist: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  /** Says why Redis refuses what is tried again: each reason once, until it was not heard for a while. */
  readonly refused: (error: unknown) => void;
  /** Why Redis is of no use at present, in a sentence without a full stop; undefined while it is. */
  readonly trouble: () => string | undefined;
}

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

/** A server that accepts commands without answering counts as dead after this time. */
const SILENCE_MS = 15_000;

const PATIENT = {
  maxRetriesPerRequest: null,
  retryStrategy: (times: number) => Math.min(times * 100, 2_000),
  connectTimeout: 10_000,
  socketTimeout: SILENCE_MS,
  sentinelCommandTimeout: 5_000,
  // After an orderly failover the old master accepts writes for ten more seconds and then loses
  // them.
  failoverDetector: true,
  keepAlive: 10_000,
} satisfies RedisOptions;

type Patient = typeof PATIENT & Pick<RedisOptions, 'reconnectOnError'>;

/** Fails at the first obstacle, so that a wrong address is reported at once. */
const IMPATIENT = {
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  connectTimeout: 5_000,
  commandTimeout: 5_000,
  sentinelCommandTimeout: 5_000,
  lazyConnect: true,
} satisfies RedisOptions;

/** Bounds the whole check, however many hosts the address has and names have to be resolved. */
const CHECK_MS = 8_000;

interface QueueServerOptions {
  readonly url: string;
  /** Called with notices, each in full sentences: when a connection is lost, and when it is back. */
  readonly onNotice: OnNotice;
}

/**
 * Connects to the Redis of a queue and makes sure that it can carry one: it is new enough, refuses
 * writes rather than evict keys when its memory is full, may be written to, and its user may do what it
 * takes.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE` that says in one sentence why it cannot be used
 */
export async function openQueueServer(options: QueueServerOptions): Promise<RedisServer> {
  const { url, onNotice } = options;
  const address = parseRedisUrl(url);
  for (const password of passwordsOf(address)) keepSecret(password);
  const name = nameOf(address);
  await tryOut(address, (client) => checkServer(client, onNotice));
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

async function tryOut(
  address: RedisAddress,
  check: (probe: RedisClient) => Promise<void>,
): Promise<void> {
  const probe = createClient(address, IMPATIENT);
  // The thrown error often says only that the connection is closed. The reason comes in events.
  const errors: unknown[] = [];
  const nodeErrors: unknown[] = [];
  probe.on('error', (error: unknown) => errors.push(error));
  for (const event of ['node error', 'sentinelError']) {
    probe.on(event, (error: unknown) => nodeErrors.push(error));
  }
  let deadline: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(new Error('timed out')), CHECK_MS);
    probe.once('end', () => reject(new Error('Connection is closed.')));
  });
  try {
    await Promise.race([over, probe.connect()]);
    // A database that does not exist is only reported in an event, and another one is used instead.
    if (errors.length > 0) throw errors[0];
    await Promise.race([over, check(probe)]);
  } catch (error) {
    throw error instanceof BrandfillError
      ? error
      : unusable(address, [error, ...errors, ...nodeErrors]);
  } finally {
    clearTimeout(deadline);
    probe.disconnect();
  }
}

const OLDEST = [6, 2] as const;

/** Writes a key from a script, as BullMQ does. */
const PROBE = "return redis.call('set', KEYS[1], '1', 'px', 1000)";
const PROBE_KEY = `${PREFIX}:probe`;

async function checkServer(client: RedisClient, onNotice: OnNotice): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  for (const node of nodes) {
    const info = parseInfo(await node.info());
    refuseOld(info);
    refuseEviction(info.get('maxmemory_policy'));
    if (info.get('aof_enabled') !== '0') continue;
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
  throw new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use this Redis for the queue: it is of version ${version || 'unknown'}, needed is 6.2 or later, or Valkey.`,
  );
}

/** Outcomes of runs and the locks of jobs have a time to live: `volatile-…` policies throw them away, too. */
function refuseEviction(policy = 'noeviction'): void {
  if (policy === 'noeviction') return;
  throw new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use this Redis for the queue: its maxmemory-policy is ${policy}: when its memory is full it throws lookups or outcomes away; set it with: redis-cli config set maxmemory-policy noeviction.`,
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

/** @throws why Redis takes nothing, though it may be read */
export async function tryWriting(client: RedisClient): Promise<void> {
  await client.set(PROBE_KEY, '1', 'PX', 1_000);
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.replace(/:.*/, ''), line.replace(/^[^:]*:/, '')]));
}

/**
 * Reports once that the server is gone, however many connections notice, once that it is back, and what it
 * refuses. After a failover the name may still lead to the old master: a new connection finds the new one,
 * over which what it refused is sent again.
 */
export function createTroubleWatch(name: string, onTrouble: OnNotice): TroubleWatch {
  const isNew = createNoticeFilter();
  let isGone = false;
  let last = '';
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  const note = (error: unknown): string => {
    last = `Redis at ${name}: ${reasonOf(error).replace(ADVICE_ON_URLS, '')}`; // it was right
    return last;
  };
  const tell = (error: unknown): void => onTrouble(`${note(error)}. Trying again until it works.`);
  const refused = (error: unknown): void => {
    // A refused login is an error of the connection.
    if (!isReply(error) || /^(WRONGPASS|NOAUTH)/.test(errorText(error))) return;
    refusedAtMs = performance.now();
    if (isNew(reasonOf(error))) tell(error);
    else note(error);
  };
  return {
    refused,
    trouble: () => (isGone || performance.now() - refusedAtMs < REFUSED_MS ? last : undefined),
    insist: async (work, signal) => {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await unlessAborted(work(), signal); // a Redis that is away does not answer at all
        } catch (error) {
          signal.throwIfAborted();
          refused(error);
          await delay(RETRY_MS, undefined, { signal }).catch(() => {}); // it is thrown next
        }
      }
    },
    reconnectOnError: (error) => {
      if (!error.message.startsWith('READONLY')) return false;
      refused(error);
      return 2;
    },
    watch: (client) => {
      client.on('error', (error: Error) => {
        // A connection breaks off first, and what comes when it is made anew says why.
        if (!isGone) tell(error);
        else if (!VAGUE.test(errorText(error))) note(error);
        isGone = true;
      });
      client.on('ready', () => {
        if (isGone) onTrouble(`Redis at ${name} answers again.`, { level: 'info' });
        isGone = false;
      });
    },
  };
}

const ADVICE_ON_URLS = /; (start Redis, or give|give|without TLS|it may have) .*/;
/** What is refused is tried again within this time, so that it is refused no longer when it has passed. */
const REFUSED_MS = 3 * RETRY_MS;

interface TroubleWatch extends Patience {
  readonly reconnectOnError: (error: Error) => 2 | false;
  readonly watch: (client: RedisClient) => void;
}

function createClient(address: RedisAddress, options: Patient | typeof IMPATIENT): RedisClient {
  const isProbe = 'lazyConnect' in options;
  if (address.kind === 'single') {
    const connector = 'sentinels' in address.options ? { Connector: PatientSentinels } : {};
    return new Redis({ ...address.options, ...options, ...connector });
  }
  const { retryStrategy, ...redisOptions } = options;
  return new Cluster([...address.nodes], {
    lazyConnect: isProbe,
    // Without the ready check, the first command shows what is wrong with the cluster.
    enableReadyCheck: !isProbe,
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...address.access, ...redisOptions },
  });
}

function passwordsOf(address: RedisAddress): readonly (string | undefined)[] {
  if (address.kind === 'cluster') return [address.access.password];
  const { options } = address;
  return [options.password, 'sentinels' in options ? options.sentinelPassword : undefined];
}

function nameOf(address: RedisAddress): string {
  if (address.kind === 'cluster') return hostsOf(address.nodes);
  const { options } = address;
  if (options.path !== undefined) return options.path;
  return 'name' in options
    ? `${options.name} (sentinels ${hostsOf(options.sentinels)})`
    : hostsOf([options]);
}

function hostsOf(nodes: readonly { host?: string | undefined; port?: number }[] = []): string {
  return nodes
    .map(({ host = '', port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    .join(',');
}

function unusable(address: RedisAddress, errors: readonly unknown[]): BrandfillError {
  const find = (isTold: (text: string) => boolean) => errors.find((one) => isTold(errorText(one)));
  const told = find((text) => !VAGUE.test(text)) ?? find((text) => text.includes('timed out'));
  const cause = told ?? errors[0];
  return new BrandfillError(
    'UNUSABLE_QUEUE',
    `Cannot use the queue on Redis at ${nameOf(address)}: ${reasonOf(cause)}.`,
    { cause },
  );
}

/** What ioredis has of its search for masters. Its types declare it private. */
interface SearchesMasters {
  connectToSentinel(...options: unknown[]): Redis;
  failoverDetector: { cleanup(): void } | null;
}

/**
 * Finds masters as ioredis does, but for two things. It is silent about a Sentinel that is away while
 * others are there: on connections that ioredis only listens to, it prints a stack for each attempt. And a
 * failover that is told while the master is looked for does not end the connection for good: what listened
 * on behalf of the connection before is of no use any more.
 */
class PatientSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const connector = this as unknown as SearchesMasters;
    const connect = connector.connectToSentinel.bind(connector);
    connector.connectToSentinel = (...args) => connect(...args).on('error', () => {});
  }

  override connect(
    ...args: Parameters<SentinelConnector['connect']>
  ): ReturnType<SentinelConnector['connect']> {
    (this as unknown as SearchesMasters).failoverDetector?.cleanup();
    return super.connect(...args);
  }
}

/** Opens a queue of BullMQ. Errors of the connection are reported elsewhere. */
export function openQueue<T>(client: RedisClient, name: string, isOurs = true): Queue<T> {
  const options = { connection: client, ...QUEUE_OPTIONS, skipMetasUpdate: !isOurs };
  const queue = new Queue<T>(name, options);
  queue.on('error', () => {});
  return queue;
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

/** Reads JSON that another process, perhaps of another version, has written; undefined if it is none. */
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
