import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';
import { getRedis, HOW_TO_GET_REDIS, type RedisSource } from './get-redis.ts';
import { COUNTER, NEEDS_REDIS } from './redis.ts';
import { startRedisServer } from './redis-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** What tests that need a Redis get; nothing of it where there is none. */
    readonly redis: {
      /** For tests that start one of their own. */
      readonly program?: string | undefined;
      /** One that all tests share, each with databases of its own. */
      readonly url?: string | undefined;
      /** The databases of that which were in use before. */
      readonly taken: readonly number[];
    };
  }
}

const NONE = 'there is none';
const NO_TLS = 'the one that was got has no TLS';
const ONLY_RUNNING =
  'the one that runs cannot be ended by them, or has too few databases (--databases 16384 is enough)';

/** Gets a Redis before the first test, and says in the end what was left out without one. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const source = await getRedis();
  if (source === undefined && process.env['CI'])
    throw new Error(`Tests need a Redis, and none could be got: ${HOW_TO_GET_REDIS}.`);
  const shared = source && (await share(source));
  project.provide('redis', {
    program: source?.program,
    url: shared?.url,
    taken: shared?.taken ?? [],
  });
  return async () => {
    const count = countLeftOut(project);
    const lacks = source === undefined ? NONE : source.program ? NO_TLS : ONLY_RUNNING;
    if (count > 0)
      console.error(
        `${count} tests that need a Redis were left out: ${lacks}; ${HOW_TO_GET_REDIS}.`,
      );
    await shared?.close();
  };
}

async function share({ program, url = '', close }: RedisSource) {
  if (program !== undefined) {
    const settings = ['--databases', '16384'];
    const { url: own, close: end } = await startRedisServer(program, { settings });
    return { url: own, taken: [], close: end };
  }
  const client = new Redis(url);
  client.on('error', () => {}); // it may not listen yet
  const keyspace = await client.info('keyspace').catch(async (error: Error) => {
    client.disconnect();
    await close?.();
    throw new Error(`The Redis at ${new URL(url).host} does not answer.`, { cause: error });
  });
  const taken = [...keyspace.matchAll(/^db(\d+):/gm)].map(([, db]) => Number(db));
  return {
    url,
    taken,
    close: async () => {
      await emptyDatabases(client, taken);
      client.disconnect();
      await close?.();
    },
  };
}

/** Empties those that tests were given. */
async function emptyDatabases(client: Redis, taken: readonly number[]): Promise<void> {
  const count = Number(await client.getdel(COUNTER));
  for (let db = 1; db <= count; db += 1) {
    const isTheirs = !taken.includes(db) && (await client.select(db).catch(String)) === 'OK';
    if (isTheirs) await client.flushdb();
  }
}

function countLeftOut(project: TestProject): number {
  let count = 0;
  for (const module of project.vitest.state.getTestModules()) {
    if (module.project !== project) continue;
    for (const test of module.children.allTests('skipped')) {
      const result = test.result();
      if ('note' in result && result.note?.startsWith(NEEDS_REDIS)) count += 1;
    }
  }
  return count;
}
