import type { Rate } from '../calls/rate.ts';
import type { Closable } from '../common/lifetime.ts';
import { createWatchedBudget, type StartedRun, type WatchedBudget } from './call-ledger.ts';
import { runJobPrefix, runKey } from './names.ts';
import { type RedisServer, repeat } from './redis.ts';

const LOOK_MS = 1_000;
/** A run that no job is held of for this many looks is forgotten. */
const MOST_IDLE = 30;

/**
 * What a worker knows of a run. Its hash has `bounds` (JSON), `paused` and `stopped` (1 while no
 * call may start for it), `lost` (1 while workers are to say what they took), `calls:allowed` and
 * `micros:allowed`, which the run writes, and `calls` and `micros`, which workers do: how much they
 * took of its bounds, beside each sum what of it is whose, and what a domain has cost. Fields
 * `made:…` are the calls that each worker has made, probes and lookups that it dropped included
 * (`call-ledger.ts`).
 */
export class WatchedRun {
  /** Whether somebody waits for its lookups, as of a second ago. */
  isThere = true;
  isPaused = false;
  budget: WatchedBudget | undefined;
  rate: Rate | undefined;
  /** How often it was looked at, in a row, without a job of it here. */
  idle = 0;
  readonly #redis: RedisServer;
  readonly #run: string;
  /** As they were read last. */
  #bounds: string | undefined;
  #started = '';

  constructor(redis: RedisServer, run: string) {
    this.#redis = redis;
    this.#run = run;
  }

  /** Whether the job is of the start that was looked at last. */
  hasAdded(jobId: string): boolean {
    return jobId.startsWith(`${runJobPrefix(this.#run)}${this.#started}-`);
  }

  async look(): Promise<void> {
    const fields = ['bounds', 'paused', 'stopped', 'lost'] as const;
    const { client } = this.#redis;
    const [bounds, paused, stopped, lost] = await client.hmget(runKey(this.#run), ...fields);
    await (lost === '1' ? this.budget?.say() : this.budget?.tell());
    this.isThere = typeof bounds === 'string' && stopped !== '1';
    this.isPaused = paused === '1';
    if (typeof bounds !== 'string' || bounds === this.#bounds) return;
    const started = JSON.parse(bounds) as StartedRun;
    this.#bounds = bounds;
    this.#started = started.started;
    this.rate = started.rate;
    // What the earlier start had left is not given back to this one.
    this.budget = createWatchedBudget(this.#redis, this.#run, started);
  }
}

/** The runs that a worker has lookups of. */
export class WatchedRuns implements Closable {
  readonly #redis: RedisServer;
  readonly #runs = new Map<string, WatchedRun>();
  readonly #looking: Closable;

  /**
   * @param isHeld whether a job under way here is of the run: it has to learn what becomes of it
   */
  constructor(redis: RedisServer, isHeld: (run: WatchedRun) => boolean) {
    this.#redis = redis;
    this.#looking = repeat(LOOK_MS, async () => {
      for (const [name, run] of this.#runs) {
        run.idle = isHeld(run) ? 0 : run.idle + 1;
        if (run.idle > MOST_IDLE) this.#runs.delete(name);
        else await run.look();
      }
    });
  }

  /**
   * Finds out about the run of a job. Each is looked at once a second, and with the first job of a
   * start: the same command may have been started again, with other bounds.
   */
  async watch(name: string, jobId: string): Promise<WatchedRun> {
    const run = this.#runs.get(name) ?? new WatchedRun(this.#redis, name);
    this.#runs.set(name, run);
    run.idle = 0;
    if (!run.hasAdded(jobId) || !run.isThere) await run.look();
    return run;
  }

  async close(): Promise<void> {
    await this.#looking.close();
  }
}
