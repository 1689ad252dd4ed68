import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, inject, onTestFinished, TestRunner } from 'vitest';

/** A Redis, or a database of one that others use as well. */
export interface TestDatabase {
  readonly url: string;
  readonly port: number;
  /** For looking into it, and for what no command of ours does. */
  readonly client: Redis;
}

/** A Redis of a test's own. */
export interface TestRedis extends TestDatabase {
  readonly pid: number;
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
  /** More settings, as on the command line of redis-server. */
  readonly settings?: readonly string[];
}

const PROGRAMS = ['redis-server', 'valkey-server'];
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];

const HELP = `There is no redis-server and no valkey-server, and tests need one:
  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server
  macOS            brew install redis`;

/** The path of a Redis or Valkey server. */
export function findRedisServer(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...FOLDERS];
  const found = folders
    .flatMap((folder) => PROGRAMS.map((program) => join(folder, program)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(HELP);
  return found;
}

/** An empty database, until the test ends, or the file. For whoever changes no settings, and ends no server. */
export async function useDatabase(): Promise<TestDatabase> {
  const port = inject('redisPort');
  const connections: Redis[] = [];
  const end = (): void => {
    for (const connection of connections) connection.disconnect();
  };
  if (TestRunner.getCurrentTest()) onTestFinished(end);
  else afterAll(end);
  const counting = new Redis({ port });
  connections.push(counting);
  // Never one that was used before: what another test has left running may still write to that.
  const db = await counting.incr('databases');
  const client = new Redis({ port, db, lazyConnect: true });
  connections.push(client);
  return { url: `redis://127.0.0.1:${port}/${db}`, port, client };
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

/** Starts a Redis on a free port. Whoever starts it closes it. */
export async function startRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const program = findRedisServer();
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
