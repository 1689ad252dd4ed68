import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { getRedis, HOW_TO_GET_REDIS, type RedisSource } from '../../test/support/get-redis.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';

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

let source: Promise<RedisSource | undefined> | undefined;

/** Starts one on a free port, with the program that the tests use. */
export async function startRedis(): Promise<BenchRedis> {
  source ??= getRedis();
  const program = (await source)?.program;
  if (program === undefined)
    throw new Error(`Cannot measure: there is no redis-server; ${HOW_TO_GET_REDIS}.`);
  const { url, port, client, close } = await startRedisServer(program);
  return {
    url,
    close,
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
  };
}
