import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { SandboxOptions, SandboxReply } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { openApi } from '../../integration/support/api.ts';
import {
  type Ended,
  type Running,
  type Started,
  start,
  startHere,
} from '../../integration/support/command.ts';
import { type Folder, openFolder } from '../../integration/support/folder.ts';
import type { SeededRandom } from '../../support/random.ts';
import { type TestRedis, type TestRedisOptions, useRedis } from '../../support/redis.ts';
import { makeList, respond } from './chaos-list.ts';

/** An API, a Redis and a list, with as many workers as a test wants. All end with the test. */
export interface Fleet {
  readonly api: Sandbox;
  readonly redis: TestRedis;
  readonly folder: Folder;
  /** Where the queue is; something else when a test puts it in between. */
  queueUrl: string;
  /** Starts `brandfill worker`; resolves when it waits for lookups. */
  worker(...flags: readonly string[]): Promise<Running>;
  /** Starts one with variables of its own. */
  workerWith(env: Readonly<Record<string, string>>, ...flags: readonly string[]): Promise<Running>;
  /** Starts so many of them at the same time. */
  workers(count: number, ...flags: readonly string[]): Promise<Running[]>;
  /** Starts `brandfill enrich` on the list, over the queue, in a process of its own. */
  enrich(...flags: readonly string[]): Promise<Running>;
  /** Starts it in this process, with all calls at the workers. */
  run(): Started;
  /** Waits until so many calls were made. */
  calls(count: number): Promise<void>;
  /**
   * The rows are those of a run that nobody disturbed, and the queue has forgotten it.
   */
  expectWhole(ended: Ended): Promise<void>;
  /** Calls beyond one for each domain, and beyond those that show whom a refusal is about. */
  excessCalls(): number;
}

export interface FleetOptions {
  readonly random: SeededRandom;
  /** @default 700 */
  readonly rows?: number;
  /** How many domains they have. @default 0.8 of the rows */
  readonly domains?: number;
  readonly redis?: TestRedisOptions;
  readonly api?: SandboxOptions;
  /**
   * How long a worker may be silent. Short, so that a lost one is soon noticed; where none is lost,
   * so long that a busy machine makes none look so.
   *
   * @default 2,000
   */
  readonly lockMs?: number;
  /**
   * What the API does with a call about a domain instead of answering it, while it is in trouble.
   */
  readonly trouble?: (domain: string) => SandboxReply | undefined;
}

export const CONCURRENCY = 16;
/** A domain that was found is asked again where it is to be told whether all is well. */
export const MOST_PROBES = 12;
/** Each process finds out anew whom a refusal is about, and hands it on when it stops. */
const MOST_ABOUT_A_REFUSAL = 6;
const SHARED_KEYS =
  /^\{brandfill\}:([\w.-]+:(meta|id|events|stalled-check|marker|pc|de:.*)$|workers$|queues$|id$|outcomes:127\.0\.0\.1-|probe(:no-log)?$|pace:|taken:|gate:|runs$)/;

export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { random, rows = 700, redis: redisOptions, trouble = () => undefined } = options;
  const { domains = Math.floor(0.8 * rows), lockMs = 2_000 } = options;
  const redis = await useRedis(redisOptions);
  // A run may be over before so many calls are made: nobody waits for them then.
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const folder = openFolder();
  const list = makeList(rows, domains, random);
  folder.write('list.csv', list.text);
  const api = await openApi({
    latencyMs: { fromMs: 5, toMs: 60 },
    respond: (domain) => trouble(domain) ?? respond(domain),
    ...options.api,
  });

  const fleet: Fleet = {
    api,
    redis,
    folder,
    queueUrl: redis.url,
    worker: (...flags) => fleet.workerWith({}, ...flags),
    workerWith: async (env, ...flags) => {
      const worker = await start(['worker', '--concurrency', String(CONCURRENCY), ...flags], {
        cwd: folder.path,
        env: { ...environment(), BRANDFILL_TEST_LOCK_MS: String(lockMs), ...env },
      });
      await worker.shows('Waiting for lookups');
      return worker;
    },
    workers: (count, ...flags) =>
      Promise.all(Array.from({ length: count }, () => fleet.worker(...flags))),
    enrich: (...flags) =>
      start(['enrich', 'list.csv', ...flags], {
        cwd: folder.path,
        env: { ...environment(), BRANDFILL_TEST_LOCK_MS: String(lockMs) },
      }),
    run: () =>
      startHere(['enrich', 'list.csv', '--workers', '0'], { cwd: folder.path, env: environment() }),
    calls: async (count) => {
      while (api.stats().calls < count && !isOver) await delay(5);
    },
    expectWhole: async (ended) => {
      expect(ended.stderr).not.toContain('unexpected');
      expect(ended.code, ended.stderr).toBe(0);
      expect(folder.read('list.enriched.csv')).toBe(list.expected.out);
      // The first domains that are refused are asked again, to see whom that is about.
      const failures = folder.read('list.failures.csv');
      expect(withoutAttempts(failures)).toBe(withoutAttempts(list.expected.failures));
      // A worker that was frozen may be about to remove what it noted when its run was over.
      // Outcomes that it sends then were paid for: they stay on the stream for the next start, as
      // long as that is kept.
      await expect.poll(() => keysLeft(redis)).toEqual([]);
    },
    excessCalls: () =>
      list.domains.reduce((sum, domain) => {
        const isRefused = respond(domain).status === 400;
        return (
          sum + Math.max(0, api.callsOf(domain).calls - (isRefused ? MOST_ABOUT_A_REFUSAL : 1))
        );
      }, 0),
  };
  const environment = (): Record<string, string> => ({
    BRANDFILL_BASE_URL: api.url,
    BRANDFILL_QUEUE: fleet.queueUrl,
  });
  return fleet;
}

/** The attempts are in the last column. */
function withoutAttempts(failures: string): string {
  return failures.replaceAll(/,\d+$/gm, '');
}

/**
 * Keys that are there for good, but for those that all runs share, such as the learned pace, and
 * for how runs ended, which the dashboard shows for a day.
 */
async function keysLeft(redis: TestRedis): Promise<readonly string[]> {
  const keys = (await redis.client.keys('*')).filter((key) => !SHARED_KEYS.test(key));
  const leftMs = await Promise.all(keys.map((key) => redis.client.pttl(key)));
  return keys.filter((key, at) => {
    const isKept = (leftMs[at] ?? 0) > 60_000 && !key.startsWith('{brandfill}:outcomes:');
    return leftMs[at] === -1 || isKept;
  });
}
