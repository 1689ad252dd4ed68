import type { Outcome } from '../brand/outcome.ts';
import type { Chunk, Reply } from './lookup-queue.ts';

/** What is known of a lookup that the API has accepted and has no answer ready for. */
export interface PendingSince {
  /** When it was first told to be pending, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** How often it was asked. */
  readonly asks: number;
}

/** An answer that says: accepted, not ready. */
export interface PendingAnswer extends PendingSince {
  readonly nowMs: number;
  /** When to ask again at the earliest, in milliseconds from now, if the API said. */
  readonly retryAfterMs: number | undefined;
  /** How long a lookup may be pending. */
  readonly maxPendingMs: number;
}

/** How long a lookup may be pending, for somebody who waits for the API no longer than `maxWaitMs`. */
export function pendingMs(maxWaitMs: number): number {
  return Math.min(maxWaitMs, 600_000);
}

const FIRST_WAIT_MS = 15_000;
/** An API that says 0 s would be asked without a pause for as long as it has no answer. */
const SHORTEST_WAIT_MS = 1_000;

/**
 * When a pending lookup is asked again, in milliseconds since 1970; undefined when it ends as
 * pending. That is when the API says, or else after 15, 30, 60, 120 s …, and a last time when
 * `maxPendingMs` are over. A time that the API said is not cut short: there would be no answer.
 */
export function nextAskMs(answer: PendingAnswer): number | undefined {
  const { sinceMs, asks, nowMs, retryAfterMs, maxPendingMs } = answer;
  const endMs = sinceMs + maxPendingMs;
  if (nowMs >= endMs) return undefined;
  if (retryAfterMs === undefined) {
    return Math.min(nowMs + FIRST_WAIT_MS * 2 ** (asks - 1), endMs);
  }
  const dueMs = nowMs + Math.max(retryAfterMs, SHORTEST_WAIT_MS);
  return dueMs > endMs ? undefined : dueMs;
}

/** The pending lookups of a run. They keep no caller, no chunk and no room in the queue's window. */
export interface Parking {
  /** Receives outcomes. Those that are pending and to be asked again are kept here. */
  readonly collect: Reply;
  /** All that are pending by now, those that are being asked again included. */
  readonly count: number;
  /** When the last of those parked is asked again, in milliseconds since 1970; 0 for none. */
  readonly untilMs: number;
  /**
   * When the API will be ready with all that ended as pending, as it says, in milliseconds since
   * 1970; undefined when it did not say.
   */
  readonly comeBackAtMs: number | undefined;
  /**
   * Gives lookups out again when they are due. Resolves after `end`, or when the run is stopped.
   *
   * @param give puts a chunk on the queue
   */
  giveOut(give: (chunk: Chunk) => Promise<void>, chunkSize: number): Promise<void>;
  /** Says that nothing is pending any more, nor will be. */
  end(): void;
  /** Ends what is still pending. Resolves when all outcomes are stored. */
  close(): Promise<void>;
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

/** How often the due ones are looked for. */
const LOOK_MS = 250;
const DONE = Promise.resolve();

/**
 * Keeps pending lookups between two asks. A lookup goes through three states: being asked (`dueMs`
 * is undefined), parked, ended; only `collect`, `giveOut` and `close` move it.
 */
export function createParking(options: ParkingOptions): Parking {
  const { maxPendingMs, collect, outstanding, onParked, now, sleep, signal } = options;
  const pending = new Map<string, PendingLookup>();
  let comeBackAtMs: number | undefined;
  const ended = new AbortController();

  /** Returns whether the outcome is kept here. */
  function park(outcome: Outcome): boolean {
    const { domain, status, retryAfterMs, fetchedAtMs } = outcome;
    const known = pending.get(domain);
    const isOpen = status === 'pending' && !signal.aborted && outstanding.has(domain);
    // Over Redis, outcomes may come more than once.
    if (isOpen && known?.outcome.fetchedAtMs === fetchedAtMs) return true;
    const nowMs = now();
    const since = { sinceMs: known?.sinceMs ?? nowMs, asks: (known?.asks ?? 0) + 1 };
    const dueMs = isOpen ? nextAskMs({ ...since, nowMs, retryAfterMs, maxPendingMs }) : undefined;
    if (dueMs === undefined) {
      forget(outcome);
      return false;
    }
    pending.set(domain, { ...since, outcome, dueMs });
    onParked?.(outcome);
    return true;
  }

  function forget({ domain, status, retryAfterMs }: Outcome): void {
    pending.delete(domain);
    if (status !== 'pending' || retryAfterMs === undefined) return;
    comeBackAtMs = Math.max(comeBackAtMs ?? 0, now() + retryAfterMs);
  }

  /** Ends them as pending. */
  function endAll(): Promise<void> {
    const ended: Outcome[] = [];
    for (const { outcome } of pending.values()) {
      // What its calls cost was counted when it was parked.
      ended.push({ ...outcome, throttled: 0, billedMicros: 0 });
      // The queue may have dropped it after the stop. It was asked all the same.
      outstanding.add(outcome.domain);
    }
    for (const outcome of ended) forget(outcome);
    return ended.length > 0 ? collect(ended) : DONE;
  }

  function takeDue(): readonly string[] {
    const nowMs = now();
    const due = [...pending].filter(([, { dueMs }]) => dueMs !== undefined && dueMs <= nowMs);
    return due.map(([domain, lookup]) => {
      lookup.dueMs = undefined;
      return domain;
    });
  }

  return {
    collect: (outcomes) => {
      const [only] = outcomes;
      if (only && outcomes.length === 1) return park(only) ? DONE : collect(outcomes);
      const rest = outcomes.filter((outcome) => !park(outcome));
      return rest.length > 0 ? collect(rest) : DONE;
    },
    get count() {
      return pending.size;
    },
    get untilMs() {
      return [...pending.values()].reduce((last, { dueMs = 0 }) => Math.max(last, dueMs), 0);
    },
    get comeBackAtMs() {
      return comeBackAtMs;
    },
    giveOut: async (give, chunkSize) => {
      const over = AbortSignal.any([signal, ended.signal]);
      while (!over.aborted) {
        const due = takeDue();
        for (let at = 0; at < due.length; at += chunkSize) {
          await give({ domains: due.slice(at, at + chunkSize) });
        }
        await sleep(LOOK_MS, over).catch(() => {}); // over
      }
    },
    end: () => ended.abort(),
    close: endAll,
  };
}
