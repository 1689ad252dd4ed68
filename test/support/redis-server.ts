import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** A Redis, or a database of one that others use as well. */
export interface TestDatabase {
  readonly url: string;
  readonly port: number;
  /** For looking into it, and for what no command of ours does. */
  readonly client: Redis;
}

/** A Redis of its own. */
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

/** Starts a Redis on a free port. Whoever starts it closes it. */
export async function startRedisServer(
  program: string,
  { isPersistent = false, settings = [] }: TestRedisOptions = {},
): Promise<TestRedis> {
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
    if (!ending || ending.exitCode !== null) return;
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
      const started = spawn(program, args, { stdio: 'ignore' });
      server = started;
      const ended = once(started, 'exit').then(([code]) => {
        throw new Error(`${program} ended with ${code}, started with ${args.join(' ')}`);
      });
      ended.catch(() => {}); // once it has answered, it is ended on purpose
      await Promise.race([client.ping(), ended]);
    },
    close: async () => {
      client.disconnect();
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await redis.start();
  } catch (error) {
    await redis.close();
    throw error;
  }
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
