import { Redis } from 'ioredis';
import { inject, onTestFinished, TestRunner } from 'vitest';
import {
  startRedisServer,
  type TestDatabase,
  type TestRedis,
  type TestRedisOptions,
} from './redis-server.ts';

export {
  freePort,
  type TestDatabase,
  type TestRedis,
  type TestRedisOptions,
} from './redis-server.ts';

// A test that needs a Redis asks for one here, and nowhere else: where there is none, it is left
// out.

/** Counts, in database 0, those that were given to tests. */
export const COUNTER = 'brandfill-tests';
/** How the note of a test that was left out for that begins. */
export const NEEDS_REDIS = 'needs a Redis';

/** The path of a Redis or Valkey server. */
export function findRedisServer(): string {
  return inject('redis').program ?? leaveOut(`${NEEDS_REDIS} of its own`);
}

/** An empty database, until the test ends. For whoever changes no settings, and ends no server. */
export async function useDatabase(): Promise<TestDatabase> {
  const { url, taken } = inject('redis');
  if (url === undefined) return leaveOut(NEEDS_REDIS);
  const counting = new Redis(url);
  onTestFinished(() => counting.disconnect());
  // Never one that was used before: what another test has left running may still write to that.
  let db = await counting.incr(COUNTER);
  while (taken.includes(db)) db = await counting.incr(COUNTER);
  if ((await counting.select(db).catch(String)) !== 'OK')
    leaveOut(`${NEEDS_REDIS} of more databases`);
  const own = new URL(`/${db}`, url);
  const client = new Redis(own.href, { lazyConnect: true });
  onTestFinished(() => client.disconnect());
  return { url: own.href, port: Number(own.port || 6379), client };
}

/** Starts a Redis on a free port that is closed when the test ends. */
export async function useRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  let redis: TestRedis | undefined;
  // Registered first: vitest knows where a call comes from only until the first `await`.
  onTestFinished(async () => await redis?.close());
  redis = await startRedisServer(findRedisServer(), options).catch((error: Error) => {
    // Some are built without it, such as the one that npm has.
    if (error.message.includes('--tls-port')) return leaveOut(`${NEEDS_REDIS} with TLS`);
    throw error;
  });
  return redis;
}

/** Leaves the test out that runs. In CI nothing may be left out for that. */
function leaveOut(why: string): never {
  const test = TestRunner.getCurrentTest();
  if (process.env['CI'] || !test) throw new Error(`A test ${why}, and there is none.`);
  return test.context.skip(why);
}
