import { isDone } from '../../../common/exit-codes.ts';
import { type Owner, startHeartbeat } from '../../../common/owner.ts';
import { PREFIX } from '../names.ts';
import { timeOf } from '../server/commands.ts';
import type { RedisClient } from '../server/redis.ts';
import { type RunReason, resultsKey, skipsKey } from './schedule-queue.ts';

/** A process that keeps schedules and makes their runs. */
export interface Keeper {
  readonly owner: Owner;
  /** The names of its jobs, sorted. */
  readonly jobs: readonly string[];
}

/** Announces a keeper until it is closed. */
export interface KeeperPresence {
  close(): Promise<void>;
}

const BEAT_MS = 5_000;
/** A keeper that was silent for this long counts as gone. */
const ABSENT_MS = 15_000;

/** The key with the names of all groups and the folders of their files. */
const GROUPS = `${PREFIX}:schedules`;

/**
 * Announces a keeper, and its group with the folder of the files. Resolves when both can be seen.
 * Both announcements are repeated, so that a Redis that has lost everything gets them again.
 *
 * @param onClock called each time with how far this machine's clock is ahead of that of Redis, in
 *   milliseconds
 */
export async function announceKeeper(
  client: RedisClient,
  { name: group, folder }: { readonly name: string; readonly folder: string },
  keeper: Keeper,
  onClock: (aheadMs: number) => void = () => {},
): Promise<KeeperPresence> {
  const member = JSON.stringify(keeper);
  const beat = async (): Promise<void> => {
    const now = await timeOf(client);
    onClock(Date.now() - now);
    const key = keepersKey(group);
    const saying = client.multi().zadd(key, now, member).pexpire(key, ABSENT_MS);
    await saying.hset(GROUPS, group, folder).exec();
  };
  const heartbeat = startHeartbeat(BEAT_MS, beat);
  try {
    await heartbeat.first;
  } catch (error) {
    heartbeat.close();
    throw error;
  }
  return {
    close: async () => {
      heartbeat.close();
      await client.zrem(keepersKey(group), member);
    },
  };
}

/** The known keepers of a group's schedules. */
export async function findKeepers(client: RedisClient, group: string): Promise<readonly Keeper[]> {
  const since = (await timeOf(client)) - ABSENT_MS;
  const members = await client.zrangebyscore(keepersKey(group), since, '+inf');
  return members.map((member) => JSON.parse(member) as Keeper);
}

/** All groups that ever existed, sorted, apart from those that were dropped. */
export async function findGroups(client: RedisClient): Promise<readonly string[]> {
  return (await client.hkeys(GROUPS)).sort();
}

/** Removes a group without schedules. */
export async function dropGroup(client: RedisClient, group: string): Promise<void> {
  await client.hdel(GROUPS, group);
}

function keepersKey(group: string): string {
  return `${PREFIX}:schedule-keepers:${group}`;
}

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
