import type { Closable } from '../common/lifetime.ts';
import type { Budget } from '../worker/budget.ts';
import type { Rate } from '../worker/rate.ts';
import { createWatchedBudget, type StartedRun, type WatchedBudget } from './call-ledger.ts';
import { runJobPrefix, runKey } from './names.ts';
import { type RedisServer, repeat } from './redis.ts';

/** What a worker knows of a run. */
export interface WatchedRun {
  /** Whether somebody waits for its lookups, as of a second ago. */
  readonly isThere: boolean;
  readonly isPaused: boolean;
  readonly budget: Budget | undefined;
  readonly rate: Rate | undefined;
}

/**
 * The runs that a worker has lookups of. The hash of a run has `bounds` (JSON), `paused` and `stopped` (1
 * while no call may start for it), `lost` (1 while workers are to say what they took), `calls:allowed` and
 * `micros:allowed`, which the run writes, and `calls` and `micros`, which workers do: how much they took of its
 * bounds, beside each sum what of it is whose, and what a domain has cost (`call-ledger.ts`).
 */
export interface WatchedRuns extends Closable {
  /**
   * Finds out about the run of a job. Each is looked at once a second, and with the first job of a start:
   * the same command may have been started again, with other bounds.
   */
  watch(run: string, jobId: string): Promise<WatchedRun>;
}

const LOOK_MS = 1_000;
/** A run that no job is held of for this many looks is forgotten. */
const MOST_IDLE = 30;

interface Known {
  isThere: boolean;
  isPaused: boolean;
  /** The bounds as they were read last. */
  bounds: string | undefined;
  started: string;
  budget: WatchedBudget | undefined;
  rate: Rate | undefined;
  idle: number;
}

/** @param isHeld whether a job under way here is of the run: it has to learn what becomes of it */
export function createWatchedRuns(
  redis: RedisServer,
  isHeld: (run: WatchedRun) => boolean,
): WatchedRuns {
  const runs = new Map<string, Known>();

  async function look(run: string, known: Known): Promise<void> {
    const found = await redis.client.hmget(runKey(run), 'bounds', 'paused', 'stopped', 'lost');
    const [bounds, paused, stopped, lost] = found;
    if (lost === '1') await known.budget?.say();
    known.isThere = typeof bounds === 'string' && stopped !== '1';
    known.isPaused = paused === '1';
    if (typeof bounds !== 'string' || bounds === known.bounds) return;
    const read = JSON.parse(bounds) as StartedRun;
    known.bounds = bounds;
    known.started = read.started;
    known.rate = read.rate;
    // What the earlier start had left is not given back to this one.
    known.budget = read.bounds.length > 0 ? createWatchedBudget(redis, run, read) : undefined;
  }

  const looking = repeat(LOOK_MS, async () => {
    for (const [run, known] of runs) {
      known.idle = isHeld(known) ? 0 : known.idle + 1;
      if (known.idle > MOST_IDLE) runs.delete(run);
      else await look(run, known);
    }
  });

  return {
    watch: async (run, jobId) => {
      const unknown = { bounds: undefined, started: '', budget: undefined, rate: undefined };
      const known = runs.get(run) ?? { ...unknown, isThere: true, isPaused: false, idle: 0 };
      runs.set(run, known);
      known.idle = 0;
      const isKnown = jobId.startsWith(`${runJobPrefix(run)}${known.started}-`);
      if (!isKnown || !known.isThere) await look(run, known);
      return known;
    },
    close: () => looking.close(),
  };
}
