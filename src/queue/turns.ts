import type { Queue } from 'bullmq';
import { BACKFILL_PRIORITY } from './names.ts';
import type { RedisClient } from './redis.ts';

/** A priority counts so many lookups: the largest, 2^21, is never reached. */
const LOOKUPS = 10;
const FIRST = BACKFILL_PRIORITY + 1;
const LAST = 2 ** 21 - 1;
/** What BullMQ multiplies a priority with, to count those of one priority behind it. */
const SCORE = 2 ** 32;
/** Jobs of other programs that get a turn at a time. */
const MOST_OTHERS = 200;

/**
 * The turns of one list on a queue that others use as well. A job's priority is the start tag of
 * fair queueing: where the turn of its list is, not when it came. So lists share the workers by
 * lookups, and a short one is done in about as many times its own time as there are lists.
 *
 * ```text
 *   start = max(virtual time, finish of the list's last job)
 *   finish = start + lookups
 *   virtual time = the lowest tag that waits
 * ```
 *
 * @see P. Goyal, H. Vin, H. Cheng, Start-time Fair Queuing, 1996
 */
export class Turns {
  readonly #client: RedisClient;
  readonly #queue: Queue;
  /** Where the turn of the next job is. */
  #finish = 0;

  constructor(client: RedisClient, queue: Queue) {
    this.#client = client;
    this.#queue = queue;
  }

  /**
   * The priorities of jobs of so many lookups each.
   *
   * @param waiting lookups of the list that are on the queue: its turn is no further away. @default
   *   any number
   */
  async of(sizes: readonly number[], waiting = Infinity): Promise<readonly number[]> {
    const now = await this.#now();
    this.#finish = Math.max(now, Math.min(this.#finish, now + waiting / LOOKUPS));
    return sizes.map((lookups) => {
      const start = Math.min(LAST, Math.floor(this.#finish));
      this.#finish += lookups / LOOKUPS;
      return start;
    });
  }

  /**
   * Gives turns to jobs of other programs, which have one priority: all would go before all lists.
   */
  async giveToOthers(): Promise<void> {
    const key = this.#queue.toKey('prioritized');
    const range = [BACKFILL_PRIORITY * SCORE, `(${FIRST * SCORE}`] as const;
    const ids = await this.#client.zrangebyscore(key, ...range, 'LIMIT', 0, MOST_OTHERS);
    const isShared = ids.length > 0 && (await this.#client.zcard(key)) > ids.length;
    if (!isShared) return;
    const now = await this.#now();
    for (const [at, id] of ids.entries()) {
      const job = await this.#queue.getJob(id);
      const lookups = (job?.data as { domains?: readonly unknown[] } | undefined)?.domains?.length;
      const priority = Math.floor(now + (at * (lookups ?? 0)) / LOOKUPS);
      await job?.changePriority({ priority });
    }
  }

  async #now(): Promise<number> {
    const key = this.#queue.toKey('prioritized');
    const [, score] = await this.#client.zrangebyscore(
      key,
      FIRST * SCORE,
      '+inf',
      'WITHSCORES',
      'LIMIT',
      0,
      1,
    );
    return Math.max(FIRST, Math.floor(Number(score ?? 0) / SCORE));
  }
}
