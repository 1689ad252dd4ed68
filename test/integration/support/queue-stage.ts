import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { type TestDatabase, useDatabase } from '../../support/redis.ts';
import { openApi } from './api.ts';
import { type CommandOptions, type Started, startHere } from './command.ts';
import { domains, type Folder, listOf, openFolder } from './folder.ts';

/** An API, a Redis and a list of so many rows, `list.csv`. All end with the test. */
export interface Stage {
  readonly api: Sandbox;
  readonly redis: TestDatabase;
  readonly folder: Folder;
  /** For commands in processes of their own. */
  readonly options: CommandOptions;
  /** Both run in this process. */
  enrich(...flags: readonly string[]): Started;
  worker(...flags: readonly string[]): Promise<Started>;
}

export async function openStage(rows: number, behaviour?: SandboxOptions): Promise<Stage> {
  const [api, redis, folder] = [await openApi(behaviour), await useDatabase(), openFolder()];
  folder.write('list.csv', listOf(domains(rows)));
  const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
  const options = { cwd: folder.path, env };
  return {
    api,
    redis,
    folder,
    options,
    enrich: (...flags) => startHere(['enrich', 'list.csv', ...flags], options),
    worker: async (...flags) => {
      const worker = startHere(['worker', ...flags], options);
      await worker.shows('Waiting for lookups');
      return worker;
    },
  };
}
