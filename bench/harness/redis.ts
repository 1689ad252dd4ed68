import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

/** A Redis for one measure, with nothing on disk. */
export interface BenchRedis {
  readonly url: string;
  /** The most memory that it has used, in bytes. */
  peakBytes(): Promise<number>;
  /** How many commands clients send while some work is done, not counting those within scripts. */
  commandsDuring(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

/** What a monitor is told of a command within a script: `+1700000000.000000 [0 lua] "get" …`. */
const LUA = /^\+[\d.]+ \[\d+ lua\]/;

/** Starts the `redis-server` or `valkey-server` of this machine on a free port. */
export async function startRedis(): Promise<BenchRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'brandfill-bench-redis-'));
  const port = await freePort();
  const program = process.env['BRANDFILL_BENCH_REDIS_SERVER'] ?? 'redis-server';
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const server = spawn(program, args, { stdio: 'ignore' });
  const failed = once(server, 'error').then(([error]) => {
    throw new Error(`Cannot measure: ${program} cannot be started; install it first`, {
      cause: error,
    });
  });
  const client = new Redis({ port, maxRetriesPerRequest: null });
  client.on('error', () => {}); // the client tries again until the server is up
  await Promise.race([client.ping(), failed]);
  return {
    url: `redis://127.0.0.1:${port}/0`,
    peakBytes: async () =>
      Number(/^used_memory_peak:(\d+)/m.exec(await client.info('memory'))?.[1]),
    commandsDuring: async (work) => {
      // A bare connection: ioredis trips over a command that is told of while its monitor starts.
      const socket = connect(port, '127.0.0.1').setEncoding('utf8');
      socket.write('MONITOR\r\n');
      const lines = createInterface({ input: socket });
      await once(lines, 'line');
      let commands = 0;
      lines.on('line', (line) => {
        if (!LUA.test(line)) commands += 1;
      });
      await work();
      socket.destroy();
      return commands;
    },
    close: async () => {
      client.disconnect();
      const exited = once(server, 'exit');
      server.kill();
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
