import type { TestProject } from 'vitest/node';
import { startRedis } from './redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The port of a Redis that all tests share, each with databases of its own. */
    readonly redisPort: number;
  }
}

/** Starts it before the first test. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedis({ settings: ['--databases', '16384'] });
  project.provide('redisPort', redis.port);
  return () => redis.close();
}
