import { setTimeout as delay } from 'node:timers/promises';
import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** Which runs make no call for now, as workers see it. */
export interface PausedRuns {
  /** Looks whether a run is paused, and keeps an eye on it until it is let go. */
  watch(runId: string): Promise<void>;
  letGo(runId: string): void;
  /** As of a moment ago; of a run that is watched. */
  has(runId: string): boolean;
  close(): void;
}

const LOOK_MS = 300;
/** Who has paused a run and is lost does not hold it up for longer. */
const KEPT_MS = 5_000;

/** Says that a run is paused, for a few seconds. */
export async function markPaused(client: RedisClient, runId: string): Promise<void> {
  await client.set(pausedKey(runId), '1', 'PX', KEPT_MS);
}

/** Says that it is no longer paused. */
export async function unmarkPaused(client: RedisClient, runId: string): Promise<void> {
  await client.del(pausedKey(runId));
}

/** Has workers give back what they hold of a run and have not begun; they take it again as they find it then. */
export async function recall(client: RedisClient, runId: string): Promise<void> {
  await markPaused(client, runId);
  await delay(2 * LOOK_MS);
  await unmarkPaused(client, runId);
}

export function watchPausedRuns(client: RedisClient): PausedRuns {
  const runs = new Map<string, WatchedRun>();

  async function look(runIds: readonly string[]): Promise<void> {
    const pipeline = client.pipeline();
    for (const runId of runIds) pipeline.exists(pausedKey(runId));
    const found = (await pipeline.exec()) ?? [];
    for (const [at, runId] of runIds.entries()) {
      const run = runs.get(runId);
      const [error, isThere] = found[at] ?? [];
      if (run && !error) run.isPaused = isThere === 1;
    }
  }

  async function lookFirst(runId: string): Promise<void> {
    await look([runId]).catch(() => {}); // the next one will do
  }

  const timer = setInterval(() => {
    for (const [runId, { watchers }] of runs) if (watchers === 0) runs.delete(runId);
    if (runs.size > 0) look([...runs.keys()]).catch(() => {}); // the next one will do
  }, LOOK_MS);

  const has = (runId: string): boolean => runs.get(runId)?.isPaused ?? false;
  return {
    watch: async (runId) => {
      const run = runs.get(runId);
      if (run) run.watchers += 1;
      else runs.set(runId, { isPaused: false, watchers: 1, firstLook: lookFirst(runId) });
      await runs.get(runId)?.firstLook;
    },
    letGo: (runId) => {
      const run = runs.get(runId);
      if (run) run.watchers -= 1;
    },
    has,
    close: () => clearInterval(timer),
  };
}

interface WatchedRun {
  isPaused: boolean;
  watchers: number;
  /** Until then, nothing is known of it. */
  readonly firstLook: Promise<void>;
}

/** Where it is noted that a run is paused. */
export function pausedKey(runId: string): string {
  return `${PREFIX}:paused:${runId}`;
}
