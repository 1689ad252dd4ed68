import { startHeartbeat } from '../../../common/heartbeat.ts';
import type { Owner } from '../../../common/owner.ts';
import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';

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
