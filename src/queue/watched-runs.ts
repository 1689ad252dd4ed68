import type { Budget } from '../calls/budget.ts';
import type { Rate } from '../calls/rate.ts';
import type { Closable } from '../common/lifetime.ts';
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

const LOOK_MS = 1_000;
/** A run that no job is held of for this many looks is forgotten. */
const MOST_IDLE = 30;

interface Known extends WatchedRun {
  isThere: boolean;
  isPaused: boolean;
  /** The bounds as they were read last. */
  bounds: string | undefined;
  started: string;
  budget: WatchedBudget | undefined;
  rate: Rate | undefined;
  idle: number;
}

/**
 * The runs that a worker has lookups of. The hash of a run has `bounds` (JSON), `paused` and `stopped` (1
 * while no call may start for it), `lost` (1 while workers are to say what they took), `calls:allowed` and
 * `micros:allowed`, which the run writes, and `calls` and `micros`, which workers do: how much they took of its
 * bounds, beside each sum what of it is whose, and what a domain has cost (`call-ledger.ts`).
 */
export class WatchedRuns implements Closable {
  readonly #redis: RedisServer;
  readonly #runs = new Map<string, Known>();
  readonly #looking: Closable;

  /** @param isHeld whether a job under way here is of the run: it has to learn what becomes of it */
  constructor(redis: RedisServer, isHeld: (run: WatchedRun) => boolean) {
    this.#redis = redis;
    this.#looking = repeat(LOOK_MS, async () => {
      for (const [run, known] of this.#runs) {
        known.idle = isHeld(known) ? 0 : known.idle + 1;
        if (known.idle > MOST_IDLE) this.#runs.delete(run);
        else await this.#look(run, known);
      }
    });
  }

  /**
   * Finds out about the run of a job. Each is looked at once a second, and with the first job of a start:
   * the same command may have been started again, with other bounds.
   */
  async watch(run: string, jobId: string): Promise<WatchedRun> {
    const unknown = { bounds: undefined, started: '', budget: undefined, rate: undefined };
    const known = this.#runs.get(run) ?? { ...unknown, isThere: true, isPaused: false, idle: 0 };
    this.#runs.set(run, known);
    known.idle = 0;
    const isKnown = jobId.startsWith(`${runJobPrefix(run)}${known.started}-`);
    if (!isKnown || !known.isThere) await this.#look(run, known);
    return known;
  }

  async close(): Promise<void> {
    await this.#looking.close();
  }

  async #look(run: string, known: Known): Promise<void> {
    const fields = ['bounds', 'paused', 'stopped', 'lost'] as const;
    const [bounds, paused, stopped, lost] = await this.#redis.client.hmget(runKey(run), ...fields);
    if (lost === '1') await known.budget?.say();
    known.isThere = typeof bounds === 'string' && stopped !== '1';
    known.isPaused = paused === '1';
    if (typeof bounds !== 'string' || bounds === known.bounds) return;
    const read = JSON.parse(bounds) as StartedRun;
    known.bounds = bounds;
    known.started = read.started;
    known.rate = read.rate;
    // What the earlier start had left is not given back to this one.
    known.budget = read.bounds.length > 0 ? createWatchedBudget(this.#redis, run, read) : undefined;
  }
}
