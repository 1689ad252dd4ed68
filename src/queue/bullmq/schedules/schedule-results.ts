import { isDone } from '../../../exit-codes.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunReason } from './schedule-queue.ts';
import { resultsKey, skipsKey } from './schedule-queue.ts';

/** How a scheduled run ended. */
export interface ScheduledResult {
  readonly why: RunReason;
  /** In ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The exit code, as of `brandfill run`. */
  readonly exitCode: number;
  /** How often the job was due again while it ran. These runs were left out. */
  readonly skipped: number;
  /** Absent when there is an error. */
  readonly rows?: number;
  readonly found?: number;
  readonly failed?: number;
  /** HTTP requests made. */
  readonly calls?: number;
  /** Why it stopped before all domains were asked. */
  readonly stopped?: string;
  /** Why it could not be run. */
  readonly error?: string;
  /** The machine that it ran on. */
  readonly host: string;
}

/** The results of the last runs of each job. */
export interface ScheduleResults {
  /** Notes that a job was due while it was running. */
  skip(job: string): Promise<void>;
  /** Adds the result of a run, with how many runs were skipped meanwhile. */
  add(job: string, result: Omit<ScheduledResult, 'skipped'>): Promise<void>;
  /** Returns the results, the latest first. */
  read(job: string): Promise<readonly ScheduledResult[]>;
}

/**
 * How many results of each job are kept. The last completed run is kept too, however many failed
 * after it.
 */
const KEPT = 30;
/**
 * The results of a run that goes on while its schedule is removed are not removed. They expire
 * after more than a year, the longest interval of crons.
 */
const KEPT_S = 400 * 24 * 60 * 60;

export function openScheduleResults(client: RedisClient, group: string): ScheduleResults {
  const readTexts = (job: string): Promise<string[]> =>
    client.lrange(resultsKey(group, job), 0, -1);

  return {
    skip: async (job) => {
      await client.hincrby(skipsKey(group), job, 1);
    },
    add: async (job, result) => {
      const key = resultsKey(group, job);
      const skipped = Number(await client.hget(skipsKey(group), job)) || 0;
      const added = JSON.stringify({ ...result, skipped } satisfies ScheduledResult);
      const kept = keptOf([added, ...(await readTexts(job))]);
      await client
        .multi()
        .hdel(skipsKey(group), job)
        .del(key)
        .rpush(key, ...kept)
        .expire(key, KEPT_S)
        .exec();
    },
    read: async (job) => (await readTexts(job)).map(parse),
  };
}

/** @param texts the latest first */
function keptOf(texts: readonly string[]): readonly string[] {
  const lastDone = texts.findIndex((text) => isDone(parse(text).exitCode));
  return texts.filter((_, at) => at < KEPT || at === lastDone);
}

function parse(text: string): ScheduledResult {
  return JSON.parse(text) as ScheduledResult;
}
