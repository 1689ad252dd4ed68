import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { QUEUE_OPTIONS } from '../../../src/queue/names.ts';
import { openQueueServer } from '../../../src/queue/redis.ts';
import {
  type Schedules as OnRedis,
  openSchedules as openOnRedis,
  type ScheduledJob,
} from '../../../src/queue/schedules.ts';
import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import { type TestDatabase, useDatabase } from '../../support/redis.ts';
import { openApi } from './api.ts';
import { runHere, type Started, start, startHere } from './command.ts';
import { openFolder } from './folder.ts';

interface JobLines {
  /** When it is due; no `schedule` unless given. */
  readonly cron?: string;
  /** More lines of the file. */
  readonly more?: readonly string[];
  /** How many domains its list has. @default 1 */
  readonly domains?: number;
}

/** A time that does not come during a test. */
export const FAR = '0 0 1 1 *';

interface SchedulesOptions {
  readonly api?: SandboxOptions;
  /** @default a database of that which all tests share */
  readonly redis?: TestDatabase;
  /**
   * How long a process of its own may be silent before another takes over its runs.
   *
   * @default a minute
   */
  readonly lockMs?: number;
}

/**
 * A folder with job files, a Redis that keeps their schedules, and an API. All end with the test.
 */
export async function openSchedules(options: SchedulesOptions = {}) {
  const redis = options.redis ?? (await useDatabase());
  const api = await openApi(options.api);
  const folder = openFolder();
  mkdirSync(folder.at('jobs'));
  const { lockMs } = options;
  const env: Record<string, string> = { BRANDFILL_BASE_URL: api.url };
  if (lockMs !== undefined) env['BRANDFILL_TEST_LOCK_MS'] = String(lockMs);
  const commandOptions = { cwd: folder.path, env };
  // Not from the environment, where runs would find it too.
  const queue = ['--queue', redis.url];
  const here = async <T>(work: (schedules: OnRedis) => Promise<T>): Promise<T> => {
    const server = await openQueueServer({ url: redis.url, onNotice: () => {} });
    const schedules = openOnRedis(server.client);
    try {
      return await work(schedules);
    } finally {
      await schedules.close();
      await server.close();
    }
  };
  /** What `--list --json` says, in this process: it is read often. */
  const list = (): Promise<readonly ScheduledJob[]> => here((all) => all.list());
  type Args = readonly string[];
  return {
    api,
    redis,
    folder,
    list,
    /** Writes `jobs/<name>.yaml`, which enriches a list of its own. */
    job: (name: string, { cron, more = [], domains = 1 }: JobLines): string => {
      const names = Array.from({ length: domains }, (_, at) => `${name}-${at}.com`);
      folder.write(`${name}.csv`, `domain\n${names.join('\n')}\n`);
      const times = ['schedule:', `  cron: '${cron}'`, '  timezone: UTC'];
      const lines = [`input: ../${name}.csv`, ...more, ...(cron === undefined ? [] : times)];
      return folder.write(`jobs/${name}.yaml`, `${lines.join('\n')}\n`);
    },
    /** Starts `brandfill schedule` in this process; resolves when it keeps the schedules. */
    keep: async (...args: Args) =>
      await keeps(startHere(['schedule', ...queue, ...args], commandOptions)),
    /** Does so in a process of its own. */
    keepApart: async (...args: Args) =>
      await keeps(await start(['schedule', ...queue, ...args], commandOptions)),
    /** Runs `brandfill schedule` to its end, in this process. */
    run: (...args: Args) => runHere(['schedule', ...queue, ...args], commandOptions),
    /** Makes a job due now. */
    ask: async (name: string) => {
      const queue = new Queue('schedules', { connection: redis.client, ...QUEUE_OPTIONS });
      await queue.add('run', { job: name }, { removeOnComplete: true, removeOnFail: true });
      await queue.close();
    },
    /** Waits until a job has so many results. */
    results: async (job: string, count: number): Promise<ScheduledJob> => {
      const endsAtMs = Date.now() + 100_000; // before the folder is gone with the test
      while (Date.now() < endsAtMs) {
        const found = (await list()).find((listed) => listed.job === job);
        if (found && found.results.length >= count) return found;
        await delay(100);
      }
      throw new Error(`${job} had no ${count} results.`);
    },
  };
}

async function keeps<T extends Started>(scheduler: T): Promise<T> {
  await scheduler.shows('Keeping the schedules');
  return scheduler;
}
