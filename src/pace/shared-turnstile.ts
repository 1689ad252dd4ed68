import { createCallsInFlight } from './calls-in-flight.ts';
import type { Clock } from './clock.ts';
import type { PaceEvent } from './pace-event.ts';
import { book, createPaceState, describePace, nextStart, type PaceState, report } from './pacer.ts';
import type { Rate } from './rate.ts';
import type { SharedReading, SharedState } from './shared-state.ts';
import type { CallReport, Turnstile } from './turnstile.ts';

/** A turnstile whose state all workers with the same credential share. */
export interface SharedTurnstile extends Turnstile {
  /** Takes no more start times. */
  close(): void;
}

export interface SharedTurnstileOptions {
  readonly shared: SharedState;
  /** A fixed rate that all workers together never exceed. Without one, the rate is found. */
  readonly rate?: Rate | undefined;
  /** Most calls of this process at the same time. */
  readonly callers: number;
  readonly clock: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** Start times are taken so far ahead. When the state is out of reach, calls stop after this time. */
const LEASE_MS = 200;
/** Two round trips each: to read and to write. Six times a second, that is twelve. */
const EXCHANGE_MS = 170;
/** A start time that nobody used is lost after this time. */
const LATE_MS = 50;
const MOST_STARTS = 4_000;
const MOST_EVENTS = 20_000;
/** Others may be faster, again and again; the next exchange comes soon enough. */
const MOST_TRIES = 5;

/**
 * Takes start times from a state that is kept elsewhere, and tells there what happened, in one
 * exchange a few times a second. A 429 is told at once, and clears the start times taken so far.
 */
export function createSharedTurnstile(options: SharedTurnstileOptions): SharedTurnstile {
  const { shared, rate, callers, clock, random = Math.random } = options;
  const inFlight = createCallsInFlight();
  const waiting: (() => void)[] = [];
  /** In the time of this process, ascending. */
  let startsMs: number[] = [];
  let events: ToldEvent[] = [];
  let known = createPaceState({ rate }, 0);
  /** From the time of this process to that of the state. */
  let aheadMs = 0;
  /** Calls of all others that are in flight, or have a start time. */
  let flyingElsewhere = 0;
  let isExchanging = false;
  let isClosed = false;
  let nextExchange: NodeJS.Timeout | undefined;
  let nextStartTimer: NodeJS.Timeout | undefined;

  function take(): boolean {
    const nowMs = clock.nowMs();
    while (startsMs[0] !== undefined && startsMs[0] < nowMs - LATE_MS) startsMs.shift();
    if (startsMs[0] === undefined || startsMs[0] > nowMs) return false;
    startsMs.shift();
    inFlight.start(nowMs);
    return true;
  }

  function letThrough(): void {
    while (waiting.length > 0 && take()) waiting.shift()?.();
    clearTimeout(nextStartTimer);
    const [nextMs] = startsMs;
    if (waiting.length === 0 || nextMs === undefined) return;
    nextStartTimer = setTimeout(letThrough, Math.max(0, nextMs - clock.nowMs()));
  }

  async function exchange(): Promise<void> {
    if (isExchanging || isClosed) return;
    isExchanging = true;
    clearTimeout(nextExchange);
    const told = events;
    events = [];
    try {
      await step(told);
    } catch {
      // Out of reach: what happened is told when it is back. Until then, start times run out.
      events = [...told, ...events].slice(-MOST_EVENTS);
    }
    isExchanging = false;
    const isUrgent = events.some(({ kind }) => kind === 'throttled');
    const pauseMs = isUrgent ? 0 : EXCHANGE_MS * (0.9 + 0.2 * random());
    if (!isClosed) nextExchange = setTimeout(() => void exchange(), pauseMs);
    letThrough();
  }

  async function step(told: readonly ToldEvent[]): Promise<void> {
    let reading: SharedReading | undefined = await shared.read();
    for (let tries = 0; reading && tries < MOST_TRIES; tries += 1) {
      const { state, taken } = takeStep(reading, told);
      const ofOurs = flyingHere() + taken.length;
      const { version } = reading;
      reading = await shared.write({ version, state: JSON.stringify(state), inFlight: ofOurs });
      if (reading) continue;
      known = state;
      startsMs.push(...taken);
    }
    if (reading) events = [...told, ...events];
  }

  /** The state after what happened here, and the start times that were taken from it. */
  function takeStep(
    { nowMs, state: json, others }: SharedReading,
    told: readonly ToldEvent[],
  ): { readonly state: PaceState; readonly taken: readonly number[] } {
    aheadMs = nowMs - clock.nowMs();
    flyingElsewhere = others;
    const state =
      json === undefined ? createPaceState({ rate }, nowMs) : (JSON.parse(json) as PaceState);
    for (const event of told) {
      const sentAtMs = event.sentAtMs + aheadMs;
      report(state, { ...event, sentAtMs }, Math.min(nowMs, event.endedAtMs + aheadMs));
    }
    const most = Math.min(MOST_STARTS, wanted(state)) - startsMs.length;
    const taken: number[] = [];
    while (taken.length < most) {
      const next = nextStart(state, { nowMs, inFlight: others + flyingHere() + taken.length });
      if (next === 'wait_for_answer' || next.atMs > nowMs + LEASE_MS) break;
      book(state, next.atMs);
      taken.push(next.atMs - aheadMs);
    }
    return { state, taken };
  }

  /** Calls in flight here, and those that have a start time. */
  function flyingHere(): number {
    return inFlight.count(clock.nowMs()) + startsMs.length;
  }

  /** How many calls could start here during a lease: each caller one, and one for each answer. */
  function wanted({ latency }: PaceState): number {
    const rounds = 1 + LEASE_MS / Math.max(1, latency.averageMs);
    return Math.ceil(callers * rounds);
  }

  function reportCall(outcome: CallReport): number {
    const { kind, sentAtMs, retryAfterMs, limits } = outcome;
    const endedAtMs = clock.nowMs();
    const flying = inFlight.end(sentAtMs);
    events.push({
      kind,
      sentAtMs,
      retryAfterMs,
      limits,
      latencyMs: endedAtMs - sentAtMs,
      inFlight: flying + startsMs.length + flyingElsewhere,
      random: random(),
      endedAtMs,
    });
    if (events.length > MOST_EVENTS) events.shift();
    if (kind !== 'throttled') return 0;
    startsMs = [];
    void exchange();
    return retryAfterMs ?? 0;
  }

  void exchange();

  return {
    enter: async (signal) => {
      signal.throwIfAborted();
      if (waiting.length === 0 && take()) return;
      await new Promise<void>((resolve, reject) => {
        const giveUp = (): void => {
          waiting.splice(waiting.indexOf(wake), 1);
          reject(signal.reason as Error);
        };
        const wake = (): void => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.push(wake);
        letThrough();
      });
    },
    report: reportCall,
    waitMs: () => describePace(known, clock.nowMs() + aheadMs).waitMs,
    describe: () => describePace(known, clock.nowMs() + aheadMs),
    close: () => {
      isClosed = true;
      clearTimeout(nextExchange);
      clearTimeout(nextStartTimer);
    },
  };
}

type ToldEvent = PaceEvent & { readonly endedAtMs: number };
