import type { Outcome } from '../brand/outcome.ts';
import { createChange } from '../common/run-control.ts';
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
  /** Domains that wait to be asked again: on no queue and at no worker. */
  readonly parked: ReadonlySet<string>;
  /** All that are pending by now, those that are being asked again included. */
  readonly count: number;
  /** When the last of those parked is asked again, in milliseconds since 1970; 0 for none. */
  readonly untilMs: number;
  /**
   * When the API will be ready with all that ended as pending, as it says, in milliseconds since
   * 1970; undefined when it did not say.
   */
  readonly comeBackAtMs: number | undefined;
  /** Waits while very many are pending. */
  room(): Promise<void>;
  /**
   * Gives lookups out again when they are due. Resolves after `end`, or when the run is stopped.
   *
   * @param give puts a chunk on the queue
   */
  giveOut(give: (chunk: Chunk) => Promise<void>, chunkSize: number): Promise<void>;
  /** Says that nothing is pending any more, nor will be. */
  end(): void;
  /** Ends what is still pending after a stop. Resolves when all outcomes are stored. */
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
  /** How many may be pending before no further domains are given out. @default 20,000 */
  readonly most?: number;
}

interface PendingLookup extends PendingSince {
  /** Its last answer. */
  readonly outcome: Outcome;
  /** When it is asked again; undefined while it is being asked. */
  dueMs: number | undefined;
}

const MOST_PENDING = 20_000;
/** How often the due ones are looked for at most. */
const LOOK_MS = 50;
const LONGEST_SLEEP_MS = 60_000;
const DONE = Promise.resolve();

/**
 * Keeps pending lookups between two asks. A lookup goes through three states: being asked (`dueMs`
 * is undefined), parked, ended; only `collect`, `giveOut` and `close` move it.
 */
export function createParking(options: ParkingOptions): Parking {
  const { maxPendingMs, collect, outstanding, onParked, now, sleep, signal } = options;
  const { most = MOST_PENDING } = options;
  const pending = new Map<string, PendingLookup>();
  const parked = new Set<string>();
  const change = createChange();
  let nextDueMs = Number.POSITIVE_INFINITY;
  let comeBackAtMs: number | undefined;
  let rounds = 0;
  let hasEnded = false;
  let sleeping: AbortController | undefined;
  let flushed: Promise<void> = DONE;

  /** Returns whether the outcome is kept here. */
  function park(outcome: Outcome): boolean {
    const { domain, retryAfterMs } = outcome;
    const known = pending.get(domain);
    if (outcome.status !== 'pending' || signal.aborted || !outstanding.has(domain)) {
      forget(domain);
      if (outcome.status === 'pending') noteComeBack(outcome);
      return false;
    }
    // Over Redis, outcomes may come more than once.
    if (known?.outcome.fetchedAtMs === outcome.fetchedAtMs) return true;
    const nowMs = now();
    const since = { sinceMs: known?.sinceMs ?? nowMs, asks: (known?.asks ?? 0) + 1 };
    const dueMs = nextAskMs({ ...since, nowMs, retryAfterMs, maxPendingMs });
    if (dueMs === undefined) {
      forget(domain);
      noteComeBack(outcome);
      return false;
    }
    pending.set(domain, { ...since, outcome, dueMs });
    parked.add(domain);
    onParked?.(outcome);
    if (dueMs < nextDueMs) wake();
    return true;
  }

  function forget(domain: string): void {
    parked.delete(domain);
    if (pending.delete(domain)) change.notify();
  }

  function noteComeBack({ retryAfterMs }: Outcome): void {
    if (retryAfterMs === undefined) return;
    comeBackAtMs = Math.max(comeBackAtMs ?? 0, now() + retryAfterMs);
  }

  function wake(): void {
    sleeping?.abort();
  }

  /** Ends the given ones as pending. */
  function endAll(domains: readonly string[]): Promise<void> {
    const ended = domains.flatMap((domain) => {
      const outcome = pending.get(domain)?.outcome;
      // What its calls cost was counted when it was parked.
      return outcome ? [{ ...outcome, throttled: 0, billedMicros: 0 }] : [];
    });
    for (const outcome of ended) {
      forget(outcome.domain);
      noteComeBack(outcome);
      // The queue may have dropped it after the stop. It was asked all the same.
      outstanding.add(outcome.domain);
    }
    return ended.length > 0 ? collect(ended) : DONE;
  }

  function onStop(): void {
    flushed = endAll([...parked]);
    flushed.catch(() => {}); // `close` throws it
    wake();
    change.notify();
  }

  /** Waits until the next one is due, as far as is known. */
  async function untilDue(): Promise<void> {
    nextDueMs = Number.POSITIVE_INFINITY;
    for (const domain of parked) {
      nextDueMs = Math.min(nextDueMs, pending.get(domain)?.dueMs ?? nextDueMs);
    }
    sleeping = new AbortController();
    const waitMs = Math.min(Math.max(nextDueMs - now(), LOOK_MS), LONGEST_SLEEP_MS);
    await sleep(waitMs, sleeping.signal).catch(() => {}); // woken
  }

  function takeDue(): readonly string[] {
    const nowMs = now();
    const due: string[] = [];
    for (const domain of parked) {
      const lookup = pending.get(domain);
      if (lookup?.dueMs !== undefined && lookup.dueMs <= nowMs) due.push(domain);
    }
    return due;
  }

  signal.addEventListener('abort', onStop);
  return {
    collect: (outcomes) => {
      const [only] = outcomes;
      if (only && outcomes.length === 1) return park(only) ? DONE : collect(outcomes);
      const rest = outcomes.filter((outcome) => !park(outcome));
      return rest.length > 0 ? collect(rest) : DONE;
    },
    parked,
    get count() {
      return pending.size;
    },
    get untilMs() {
      let untilMs = 0;
      for (const { dueMs = 0 } of pending.values()) untilMs = Math.max(untilMs, dueMs);
      return untilMs;
    },
    get comeBackAtMs() {
      return comeBackAtMs;
    },
    room: async () => {
      while (pending.size >= most && !signal.aborted) await change.wait();
    },
    giveOut: async (give, chunkSize) => {
      while (!hasEnded && !signal.aborted) {
        await untilDue();
        const due = takeDue();
        for (let at = 0; at < due.length && !signal.aborted; at += chunkSize) {
          const domains = due.slice(at, at + chunkSize);
          for (const domain of domains) {
            const lookup = pending.get(domain);
            if (lookup) lookup.dueMs = undefined;
            parked.delete(domain);
          }
          rounds += 1;
          await give({ domains, round: rounds });
        }
      }
    },
    end: () => {
      hasEnded = true;
      wake();
    },
    close: async () => {
      signal.removeEventListener('abort', onStop);
      await flushed;
      await endAll([...pending.keys()]);
    },
  };
}
