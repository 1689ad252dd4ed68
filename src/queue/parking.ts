import type { Chunk, Reply } from '../calls/lookup-queue.ts';
import type { Outcome } from '../calls/outcome.ts';

/** What is known of a lookup that the API has accepted and has no answer ready for. */
export interface PendingSince {
  /** When it was first told to be pending, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** How often it was asked. */
  readonly asks: number;
}

/** A lookup that is asked again. */
export interface Pending extends PendingSince {
  /** When, in milliseconds since 1970. */
  readonly dueMs: number;
}

/**
 * How long a lookup may be pending, for somebody who waits for the API no longer than `maxWaitMs`.
 */
export function pendingMs(maxWaitMs: number): number {
  return Math.min(maxWaitMs, 600_000);
}

const FIRST_WAIT_MS = 15_000;
/** An API that says 0 s would be asked without a pause for as long as it has no answer. */
const SHORTEST_WAIT_MS = 1_000;

/**
 * When a lookup is asked again after an answer that says: accepted, not ready. That is when the API
 * says, or else after 15, 30, 60, 120 s …, and a last time when `maxPendingMs` are over. A time
 * that the API said is not cut short: there would be no answer.
 *
 * @param known what was known of it before this answer
 * @returns undefined when it ends as pending
 */
export function askAgain(
  known: PendingSince | undefined,
  { retryAfterMs }: Pick<Outcome, 'retryAfterMs'>,
  { nowMs, maxPendingMs }: { readonly nowMs: number; readonly maxPendingMs: number },
): Pending | undefined {
  const { sinceMs = nowMs, asks = 0 } = known ?? {};
  const endMs = sinceMs + maxPendingMs;
  const dueMs =
    retryAfterMs === undefined
      ? Math.min(nowMs + FIRST_WAIT_MS * 2 ** asks, endMs)
      : nowMs + Math.max(retryAfterMs, SHORTEST_WAIT_MS);
  return nowMs >= endMs || dueMs > endMs ? undefined : { sinceMs, asks: asks + 1, dueMs };
}

export interface ParkingOptions {
  readonly maxPendingMs: number;
  /** Receives the outcomes that are not asked again. */
  readonly collect: Reply;
  /** Domains under way, those pending included. */
  readonly outstanding: Set<string>;
  /** Called with an outcome whose lookup is asked again, whose calls would not be counted. */
  readonly onParked?: (outcome: Outcome) => void;
  /** Milliseconds since 1970. Never goes back. */
  readonly now: () => number;
  /** Resolves after the time; rejects when the signal fires first. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Fires when the run is stopped. Nothing is asked again from then on. */
  readonly signal: AbortSignal;
}

interface PendingLookup extends PendingSince {
  /** Its last answer. */
  readonly outcome: Outcome;
  /** When it is asked again; undefined while it is being asked. */
  dueMs: number | undefined;
}

/** Lookups that are due so close to each other are given out together. */
const TOGETHER_MS = 250;
/** A timer stands still while the machine sleeps; the time of lookups does not. */
const LONGEST_SLEEP_MS = 15_000;
const DONE = Promise.resolve();

/**
 * The pending lookups of a run. They keep no caller, no chunk and no room in the queue's window. A
 * lookup goes through three states: being asked (`dueMs` is undefined), parked, ended; only
 * `collect`, `giveOut` and `close` move it.
 */
export class Parking {
  readonly #options: ParkingOptions;
  readonly #pending = new Map<string, PendingLookup>();
  readonly #ended = new AbortController();
  /** Wakes who waits until something is due. */
  #wake = new AbortController();
  #wakeAtMs = Infinity;
  #comeBackAtMs: number | undefined;

  constructor(options: ParkingOptions) {
    this.#options = options;
  }

  /** All that are pending by now, those that are being asked again included. */
  get count(): number {
    return this.#pending.size;
  }

  /** When the last of those parked is asked again, in milliseconds since 1970; 0 for none. */
  get untilMs(): number {
    return [...this.#pending.values()].reduce((last, { dueMs = 0 }) => Math.max(last, dueMs), 0);
  }

  /**
   * When the API will be ready with all that ended as pending, as it says, in milliseconds since
   * 1970; undefined when it did not say.
   */
  get comeBackAtMs(): number | undefined {
    return this.#comeBackAtMs;
  }

  /** Receives outcomes. Those that are pending and to be asked again are kept here. */
  readonly collect: Reply = (outcomes) => {
    const { collect } = this.#options;
    const [only] = outcomes;
    if (only && outcomes.length === 1) return this.#park(only) ? DONE : collect(outcomes);
    const rest = outcomes.filter((outcome) => !this.#park(outcome));
    return rest.length > 0 ? collect(rest) : DONE;
  };

  /**
   * Gives lookups out again when they are due. Resolves after `end`, or when the run is stopped.
   *
   * @param give puts a chunk on the queue
   */
  async giveOut(give: (chunk: Chunk) => Promise<void>, chunkSize: number): Promise<void> {
    const { signal, sleep } = this.#options;
    const over = AbortSignal.any([signal, this.#ended.signal]);
    while (!over.aborted) {
      const due = this.#takeDue();
      for (let at = 0; at < due.length; at += chunkSize) {
        await give({ domains: due.slice(at, at + chunkSize) });
      }
      this.#wake = new AbortController();
      this.#wakeAtMs = this.#nextMs();
      const waitMs = Math.max(TOGETHER_MS, this.#wakeAtMs - this.#options.now());
      const early = AbortSignal.any([over, this.#wake.signal]);
      await sleep(waitMs, early).catch(() => {});
    }
  }

  /** Says that nothing is pending any more, nor will be. */
  end(): void {
    this.#ended.abort();
  }

  /** Ends what is still pending, as pending. Resolves when all outcomes are stored. */
  async close(): Promise<void> {
    const { collect, outstanding } = this.#options;
    const ended: Outcome[] = [];
    for (const { outcome } of this.#pending.values()) {
      // Its calls were counted when it was parked.
      ended.push({ ...outcome, calls: 0, throttled: 0, billedMicros: 0 });
      // The queue may have dropped it after the stop. It was asked all the same.
      outstanding.add(outcome.domain);
    }
    for (const outcome of ended) this.#forget(outcome);
    if (ended.length > 0) await collect(ended);
  }

  /** Returns whether the outcome is kept here. */
  #park(outcome: Outcome): boolean {
    const { maxPendingMs, outstanding, onParked, now, signal } = this.#options;
    const { domain, status, fetchedAtMs } = outcome;
    const known = this.#pending.get(domain);
    const isOpen = status === 'pending' && !signal.aborted && outstanding.has(domain);
    // Over Redis, outcomes may come more than once.
    if (isOpen && known?.outcome.fetchedAtMs === fetchedAtMs) return true;
    const pending = isOpen && askAgain(known, outcome, { nowMs: now(), maxPendingMs });
    if (!pending) {
      this.#forget(outcome);
      return false;
    }
    this.#pending.set(domain, { ...pending, outcome });
    if (pending.dueMs < this.#wakeAtMs) this.#wake.abort();
    onParked?.(outcome);
    return true;
  }

  #forget({ domain, status, retryAfterMs }: Outcome): void {
    this.#pending.delete(domain);
    if (status !== 'pending' || retryAfterMs === undefined) return;
    this.#comeBackAtMs = Math.max(this.#comeBackAtMs ?? 0, this.#options.now() + retryAfterMs);
  }

  /** When to look for what is due. */
  #nextMs(): number {
    const dues = Array.from(this.#pending.values(), ({ dueMs = Infinity }) => dueMs);
    const soon = this.#options.now() + LONGEST_SLEEP_MS;
    return dues.length === 0 ? Infinity : dues.reduce((a, b) => Math.min(a, b), soon);
  }

  #takeDue(): readonly string[] {
    const nowMs = this.#options.now();
    const due = [...this.#pending].filter(([, { dueMs = Infinity }]) => dueMs <= nowMs);
    return due.map(([domain, lookup]) => {
      lookup.dueMs = undefined;
      return domain;
    });
  }
}
