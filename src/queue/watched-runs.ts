import type { Closable } from '../common/lifetime.ts';
import type { SharedBudget } from '../worker/budget.ts';
import type { Rate } from '../worker/rate.ts';
import { createRunBudget, type StartedRun } from './call-ledger.ts';
import { runKey } from './names.ts';
import { type RedisServer, repeat } from './redis.ts';

/** What a worker knows of a run. */
export interface WatchedRun {
  /** Whether somebody waits for its lookups, as of a second ago. */
  readonly isThere: boolean;
  readonly isPaused: boolean;
  readonly budget: SharedBudget | undefined;
  readonly rate: Rate | undefined;
}

/**
 * The runs that a worker has lookups of. The hash of a run has `bounds` (JSON), `paused` and `stopped` (1
 * while no call may start for it), which the run writes, and `calls` and `micros`, which
 * workers do: how much they took of its bounds.
 */
export interface WatchedRuns extends Closable {
  /** Finds out about the run of a job: the same command may have been started again, with other bounds. */
  watch(run: string): Promise<WatchedRun>;
}

const LOOK_MS = 1_000;
/** A run that no lookup came of for this many looks is forgotten. */
const MOST_IDLE = 30;

interface Known {
  isThere: boolean;
  isPaused: boolean;
  /** The bounds as they were read last. */
  bounds: string | undefined;
  budget: SharedBudget | undefined;
  rate: Rate | undefined;
  idle: number;
}

export function createWatchedRuns(redis: RedisServer): WatchedRuns {
  const runs = new Map<string, Known>();

  async function look(run: string, known: Known): Promise<void> {
    const found = await redis.client.hmget(runKey(run), 'bounds', 'paused', 'stopped');
    const [bounds, paused, stopped] = found;
    known.isThere = typeof bounds === 'string' && stopped !== '1';
    known.isPaused = paused === '1';
    if (typeof bounds !== 'string' || bounds === known.bounds) return;
    const read = JSON.parse(bounds) as StartedRun;
    known.bounds = bounds;
    known.rate = read.rate;
    // What the earlier start had left is not given back to this one.
    known.budget = createRunBudget(redis, run, read);
  }

  const looking = repeat(LOOK_MS, async () => {
    for (const [run, known] of runs) {
      known.idle += 1;
      if (known.idle > MOST_IDLE) {
        runs.delete(run);
        await known.budget?.close();
      } else await look(run, known);
    }
  });

  return {
    watch: async (run) => {
      const unknown = { bounds: undefined, budget: undefined, rate: undefined, idle: 0 };
      const known = runs.get(run) ?? { ...unknown, isThere: true, isPaused: false };
      runs.set(run, known);
      known.idle = 0;
      await look(run, known);
      return known;
    },
    close: async () => {
      void looking.close();
      await Promise.all([...runs.values()].map(async ({ budget }) => await budget?.close()));
    },
  };
}
