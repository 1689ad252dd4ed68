import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** A Redis of a test's own. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** For looking into it, and for what no command of ours does. */
  readonly client: Redis;
  /** Ends it at once, as a power failure would. */
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Starts it again on the same port, with what it has on its disk. */
  start(): Promise<void>;
  /** Ends it and removes what it wrote. */
  close(): Promise<void>;
}

export interface TestRedisOptions {
  /** Keeps everything on disk: `appendonly yes`, `appendfsync everysec`. @default false */
  readonly isPersistent?: boolean;
  /** It is going to be reconfigured: never the one at `REDIS_URL`. @default false */
  readonly isOwn?: boolean;
  /** More settings, as on the command line of redis-server. */
  readonly settings?: readonly string[];
}

const PROGRAMS = ['redis-server', 'valkey-server'];
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];

/**
 * The path of a Redis or Valkey server, if there is one on this machine.
 * `BRANDFILL_TEST_REDIS_SERVER` names another, or with a path that is not there none.
 */
export function findRedisServer(): string | undefined {
  const given = process.env['BRANDFILL_TEST_REDIS_SERVER'];
  if (given !== undefined) return existsSync(given) ? given : undefined;
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...FOLDERS];
  return folders
    .flatMap((folder) => PROGRAMS.map((program) => join(folder, program)))
    .find((path) => existsSync(path));
}

/**
 * Starts a Redis on a free port that is closed when the test ends, or, called at the top of a file,
 * when the file ends. In a `beforeAll`, which is neither, use `startRedis`.
 */
export async function useRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  let redis: TestRedis | undefined;
  const close = async (): Promise<void> => await redis?.close();
  // Registered first: vitest knows where a call comes from only until the first `await`.
  if (TestRunner.getCurrentTest()) onTestFinished(close);
  else afterAll(close);
  redis = await startRedis(options);
  return redis;
}

/**
 * Starts a Redis on a free port. Whoever starts it closes it. Where none can be started it is an
 * empty database at `REDIS_URL`, and tests that do more than use it are skipped.
 */
export async function startRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const program = findRedisServer();
  if (program === undefined) return await borrowRedis(options);
  const { isPersistent = false, settings = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), 'brandfill-redis-'));
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  args.push('--appendonly', isPersistent ? 'yes' : 'no', '--loglevel', 'warning', ...settings);
  const client = new Redis({ port, lazyConnect: true, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it is killed on purpose
  let server: ChildProcess | undefined;

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = server;
    server = undefined;
    if (!ending) return;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    await exited;
  }

  const redis: TestRedis = {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    client,
    get pid() {
      return server?.pid ?? 0;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    start: async () => {
      server = spawn(program, args, { stdio: 'ignore' });
      await client.ping();
    },
    close: async () => {
      client.disconnect();
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await redis.start();
  return redis;
}

/** Takes an empty database of a Redis that belongs to somebody else. */
async function borrowRedis(options: TestRedisOptions): Promise<TestRedis> {
  const { isPersistent, isOwn, settings = [] } = options;
  const given = process.env['REDIS_URL'];
  if (!given) throw new Error('There is no redis-server, no valkey-server and no REDIS_URL.');
  if (isPersistent || isOwn || settings.length > 0) skip('needs a Redis with settings of its own');
  const url = new URL(given);
  const client = await borrowDatabase(url);
  console.log(
    `Tests that end their Redis are skipped: they use database ${url.pathname.slice(1)}.`,
  );
  const refuse = async (): Promise<void> => skip('ends its Redis');
  return {
    url: url.href,
    port: Number(url.port || 6_379),
    pid: 0,
    client,
    kill: refuse,
    stop: refuse,
    start: refuse,
    close: async () => {
      await client.flushdb(); // it was empty when it was taken
      client.disconnect();
    },
  };
}

/** A database that holds this key is another test file's. */
const TAKEN = 'brandfill-test:taken';
const LAST_DATABASE = 15;

/** Takes the last database that is empty, but never the first, and puts its number into the URL. */
async function borrowDatabase(url: URL): Promise<Redis> {
  for (let db = LAST_DATABASE; db > 0; db -= 1) {
    url.pathname = `/${db}`;
    const client = new Redis(url.href, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => {}); // told by what `connect` throws
    await client.connect();
    if ((await client.dbsize()) === 0 && (await client.set(TAKEN, process.pid, 'NX')) === 'OK') {
      return client;
    }
    client.disconnect();
  }
  throw new Error(
    `Databases 1 to ${LAST_DATABASE} at REDIS_URL are not empty, and tests empty theirs when they end.`,
  );
}

/** Skips the test that is running, and says why. */
function skip(deed: string): never {
  const reason = `it ${deed}, and there is only the one at REDIS_URL`;
  const test = TestRunner.getCurrentTest();
  if (!test) throw new Error(`These tests cannot run here: each ${reason}.`);
  console.log(`Skipped '${test.name}': ${reason}.`);
  return test.context.skip(reason);
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return address.port;
}
