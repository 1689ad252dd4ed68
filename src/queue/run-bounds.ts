import { type CallLedger, REASON_OF, type RunBound } from '../calls/budget.ts';
import { type CallsMade, createCallCounters } from '../calls/outcome.ts';
import { readMade, type StartedRun } from './call-ledger.ts';
import { KEPT_MS, QUEUES_KEY, runKey } from './names.ts';
import type { RedisServer } from './redis.ts';

export interface RunHashOptions extends StartedRun {
  readonly redis: RedisServer;
  readonly run: string;
  /** The queue of the API. */
  readonly queue: string;
  /** With what the run's store counts of each. */
  readonly bounds: readonly (RunBound & { readonly ledger: CallLedger })[];
  /**
   * Whether another start may be known to be the same run. Otherwise nothing counts that was
   * before.
   */
  readonly isNamed: boolean;
  readonly isPaused: () => boolean;
  /** Called with the calls that workers have made since this start. */
  readonly onMade: (made: CallsMade) => void;
}

/** A bound and what is known of it. */
interface Bound extends RunBound {
  readonly ledger: CallLedger;
  each: number | undefined;
  /** What workers have taken, and had at the look before. */
  spent: number;
  spentBefore: number;
  /** What the store has counted, which is what workers may take by now. */
  allowed: number;
}

/**
 * Workers may always take for so many calls more than they have. A kill of both run and Redis loses
 * them.
 */
const AHEAD = 20;
/**
 * So soon after a loss all who are at work have said how much they took: they look every second.
 */
const SHARES_MS = 3_000;

/**
 * The hash of a run in Redis, by which workers know that somebody waits, and its bounds.
 *
 * ```text
 *   store: counts what is allowed, on the disk ──▶ hash: allowed ──▶ workers: take, and say so
 *      ▲                                                                      │
 *      └──────── a little more than is taken, five times a second ◀───────────┘
 * ```
 *
 * So what is spent is never more than what the store knows, whatever becomes of Redis. One that
 * knows of less than the store has lost its memory: then all counts that was allowed.
 */
export class RunHash {
  readonly #options: RunHashOptions;
  readonly #key: string;
  readonly #bounds: readonly Bound[];
  /** Its value of the field `bounds`. */
  readonly #started: string;
  /** All of the hash as it was read last. */
  #known: Readonly<Record<string, string>> = {};
  /** What earlier starts had made. */
  #madeAtStart: CallsMade = createCallCounters();
  #lostAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RunHashOptions) {
    const { counting, rate, started } = options;
    this.#options = options;
    this.#key = runKey(options.run);
    const bounds = options.bounds.map(({ ledger: _, ...bound }) => bound);
    this.#started = JSON.stringify({ bounds, counting, rate, started } satisfies StartedRun);
    const none = { spent: 0, spentBefore: 0, allowed: 0 };
    this.#bounds = options.bounds.map((bound) => ({ ...bound, ...none }));
  }

  /** Why workers may take no more, as it was read last; undefined while they may. */
  get usedUp(): 'max_calls' | 'max_cost' | undefined {
    const usedUp = this.#bounds.find(({ most, spent, each = 1 }) => spent + each > most);
    return usedUp && REASON_OF[usedUp.field];
  }

  /** Writes the hash, with what an earlier start has spent. */
  async open(): Promise<void> {
    const { client } = this.#options.redis;
    if (this.#options.isNamed) await client.hdel(this.#key, 'stopped', 'lost');
    else await client.del(this.#key);
    this.#known = await client.hgetall(this.#key);
    this.#madeAtStart = readMade(this.#known);
    const lost: Record<string, string> = {};
    for (const bound of this.#bounds) {
      const { field, ledger } = bound;
      const { taken } = await ledger.read();
      const { spent, allowed } = this.#read(bound);
      bound.allowed = taken;
      bound.spent = allowed < taken ? Math.max(spent, taken) : spent;
      bound.spentBefore = bound.spent;
      if (bound.spent > spent) lost[field] = String(bound.spent);
    }
    await this.#allow();
    await this.write(lost);
  }

  /**
   * Reads what of the bounds is spent, allows more, and keeps the hash for as long as the run
   * lives.
   */
  async look(): Promise<void> {
    const { client } = this.#options.redis;
    const [kept] = await Promise.all([
      client.hgetall(this.#key),
      client.pexpire(this.#key, KEPT_MS),
    ]);
    const isOlder = ({ field, allowed, most }: Bound): boolean =>
      Number(kept[`${field}:allowed`] ?? 0) < Math.min(allowed, most);
    // It may have been lost between a look and what that wrote.
    const isGone = (name: string): boolean => name !== 'lost' && !(name in kept);
    if (
      kept['bounds'] === undefined ||
      this.#bounds.some(isOlder) ||
      Object.keys(this.#known).some(isGone)
    )
      return await this.#restore();
    this.#known = kept;
    const isOver = performance.now() - this.#lostAtMs > SHARES_MS;
    if (kept['lost'] !== undefined && isOver) await client.hdel(this.#key, 'lost');
    for (const bound of this.#bounds) {
      bound.spentBefore = bound.spent;
      bound.spent = this.#read(bound).spent;
      const told = kept[`${bound.field}:each`];
      if (told !== undefined) bound.each = Math.max(bound.each ?? 0, Number(told));
    }
    const isAllowed = await this.#allow();
    const isOther = kept['bounds'] !== this.#started || kept['paused'] !== this.#paused;
    if (isAllowed || isOther) await this.write();
    this.#tell(kept);
  }

  /** Writes what the run itself knows. */
  async write(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const { redis, queue } = this.#options;
    const fields = { ...more, bounds: this.#started, paused: this.#paused };
    const allowed = this.#bounds.map(
      (bound) => [`${bound.field}:allowed`, Math.min(bound.allowed, bound.most)] as const,
    );
    await redis.client
      .multi()
      .sadd(QUEUES_KEY, queue)
      .hset(this.#key, { ...fields, ...Object.fromEntries(allowed) })
      .pexpire(this.#key, KEPT_MS)
      .exec();
  }

  /** Makes workers drop what they have not begun. */
  async stop(): Promise<void> {
    await this.#options.redis.client.hset(this.#key, 'stopped', '1');
  }

  /** @param isInterrupted whether what was spent counts for the next start */
  async close(isInterrupted: boolean): Promise<void> {
    this.#tell(await this.#options.redis.client.hgetall(this.#key));
    const isCounted = isInterrupted && this.#bounds.length > 0;
    if (!isCounted) return void (await this.#options.redis.client.del(this.#key));
    await this.look();
    for (const { ledger, allowed, spent } of this.#bounds) {
      const { window } = await ledger.read();
      await ledger.giveBack(allowed - spent, window);
    }
    await this.stop();
  }

  get #paused(): string {
    return this.#options.isPaused() ? '1' : '0';
  }

  #read({ field }: Bound): { readonly spent: number; readonly allowed: number } {
    const { [field]: spent = 0, [`${field}:allowed`]: allowed = 0 } = this.#known;
    return { spent: Number(spent), allowed: Number(allowed) };
  }

  /**
   * Puts back what was there before Redis lost it. For a moment workers get no more: they say what
   * they have.
   */
  async #restore(): Promise<void> {
    this.#lostAtMs = performance.now();
    await this.write({ ...this.#known, lost: '1' });
  }

  /** Has the store count more, before workers take it. @returns whether they may */
  async #allow(): Promise<boolean> {
    let isMore = false;
    for (const bound of this.#bounds) {
      const { ledger, spent, spentBefore, allowed, each } = bound;
      const { size = 1 } = this.#options.counting;
      const ahead = Math.max(AHEAD * size * (each ?? 1), 2 * (spent - spentBefore));
      const more = spent + ahead - allowed;
      if (more <= 0 || allowed >= bound.most) continue;
      const never = new AbortController().signal;
      const taken = await ledger.take(Math.ceil(more / (each ?? 1)), each, never);
      bound.allowed += taken.count;
      bound.each = taken.each;
      isMore ||= taken.count > 0;
    }
    return isMore;
  }

  #tell(kept: Readonly<Record<string, string>>): void {
    if (kept['bounds'] === undefined) return; // Redis has lost it
    const { calls, throttled, billedMicros } = readMade(kept);
    const before = this.#madeAtStart;
    this.#options.onMade({
      calls: calls - before.calls,
      throttled: throttled - before.throttled,
      billedMicros: billedMicros - before.billedMicros,
    });
  }
}
