import { setTimeout as delay } from 'node:timers/promises';
import { startHeartbeat } from '../../../common/heartbeat.ts';
import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** Which runs make no calls at present, as workers see it. */
export interface PausedRuns {
  /** Checks whether a run is paused, and keeps checking until it is let go. */
  watch(runId: string): Promise<void>;
  letGo(runId: string): void;
  /** Whether a watched run is paused, as of a moment ago. */
  has(runId: string): boolean;
  close(): void;
}

const POLL_MS = 300;
/** A process that paused a run and was lost holds the run up no longer than this. */
const KEPT_MS = 5_000;

/** Marks a run as paused for a few seconds. */
export async function markPaused(client: RedisClient, runId: string): Promise<void> {
  await client.set(pausedKey(runId), '1', 'PX', KEPT_MS);
}

/** Removes the mark. */
export async function unmarkPaused(client: RedisClient, runId: string): Promise<void> {
  await client.del(pausedKey(runId));
}

/**
 * Makes workers give back lookups of a run that they have not begun. They take them again with its
 * new terms.
 */
export async function recall(client: RedisClient, runId: string): Promise<void> {
  await markPaused(client, runId);
  await delay(2 * POLL_MS);
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
    await look([runId]).catch(() => {}); // the next look will do
  }

  const heartbeat = startHeartbeat(POLL_MS, async () => {
    for (const [runId, { watchers }] of runs) if (watchers === 0) runs.delete(runId);
    if (runs.size > 0) await look([...runs.keys()]);
  });

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
    close: heartbeat.close,
  };
}

interface WatchedRun {
  isPaused: boolean;
  watchers: number;
  /** Until this resolves, nothing is known of the run. */
  readonly firstLook: Promise<void>;
}

/** The key that marks a run as paused. */
export function pausedKey(runId: string): string {
  return `${PREFIX}:paused:${runId}`;
}
