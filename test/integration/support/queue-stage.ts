import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import { useDatabase } from '../../support/redis.ts';
import { openApi } from './api.ts';
import { startHere } from './command.ts';
import { openList } from './folder.ts';

/** An API, a Redis and a list of so many rows, `list.csv`. All end with the test. */
export async function openStage(rows: number, behaviour?: SandboxOptions) {
  const [api, redis, folder] = [await openApi(behaviour), await useDatabase(), openList(rows)];
  const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
  const options = { cwd: folder.path, env };
  return {
    api,
    redis,
    folder,
    /** For commands in processes of their own. */
    options,
    /** Both run in this process. */
    enrich: (...flags: readonly string[]) => startHere(['enrich', 'list.csv', ...flags], options),
    worker: async (...flags: readonly string[]) => {
      const worker = startHere(['worker', ...flags], options);
      await worker.shows('Waiting for lookups');
      return worker;
    },
  };
}
