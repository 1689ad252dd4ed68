import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { type TestDatabase, useDatabase } from '../../support/redis.ts';
import { openApi } from './api.ts';
import { type Running, start } from './command.ts';
import { type Folder, openFolder } from './folder.ts';
import { domains, listOf } from './tables.ts';

/** An API, a Redis and a list of so many rows, `list.csv`. All end with the test. */
export interface Stage {
  readonly api: Sandbox;
  readonly redis: TestDatabase;
  readonly folder: Folder;
  enrich(...flags: readonly string[]): Promise<Running>;
  worker(flags?: readonly string[], env?: Readonly<Record<string, string>>): Promise<Running>;
}

export async function openStage(rows: number, options?: SandboxOptions): Promise<Stage> {
  const [api, redis, folder] = [await openApi(options), await useDatabase(), openFolder()];
  folder.write('list.csv', listOf(domains(rows)));
  const common = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
  return {
    api,
    redis,
    folder,
    enrich: (...flags) =>
      start(['enrich', 'list.csv', ...flags], {
        cwd: folder.path,
        env: common,
      }),
    worker: async (flags = [], env = {}) => {
      const worker = await start(['worker', ...flags], {
        cwd: folder.path,
        env: { ...common, ...env },
      });
      await worker.shows('Waiting for lookups');
      return worker;
    },
  };
}
