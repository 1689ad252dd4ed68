import type { Rate } from '../calls/rate.ts';
import { climb, resume, slow } from './climb.ts';
import {
  accepted,
  createPace,
  ended,
  give,
  type Pace,
  type PacedCall,
  type Refusal,
  refused,
} from './pace.ts';
import type { Learned, StartedCalls } from './pace-memory.ts';
import { nextStartMs, start } from './pace-starts.ts';
import {
  bookFixed,
  createFixedRate,
  type FixedRate,
  MOST_STARTS,
  nextFixedStartMs,
} from './rate.ts';

/** Where the pace is kept. Times are those of the clock of this process. */
export interface PaceHome {
  /** When one more call may start; Infinity: not before something has happened. */
  nextMs(nowMs: number, inFlight: number): number;
  /** A call starts. */
  start(nowMs: number): void;
  /** A call has ended. */
  ended(how: 'good' | Refusal | 'none', call: PacedCall, nowMs: number): void;
  /** Takes the rate down for a while. */
  slow(ratePerMs: number, nowMs: number): void;
  /** Lets it climb. @param toPerMs 0: to what it was */
  climb(toPerMs: number, nowMs: number): void;
  /** The rate is what it was, at once. */
  resume(nowMs: number): void;
  /** The pace as it is known here, and the fixed rate. */
  readonly pace: Readonly<Pace>;
  readonly fixed: FixedRate | undefined;
  /** So many callers wait that may start here: called again when something has changed. */
  wanted?(waiting: number): void;
  onChange?: () => void;
  /** Whether calls fail here that go well elsewhere. */
  readonly isSick?: boolean;
  /** What others who share the pace have found. @default nobody else is there */
  readonly others?: Others;
  /** Tells them of a domain that was found. */
  tellFound?(domain: string): void;
  /** Why calls fail elsewhere. */
  readonly reason?: string | undefined;
  close?(): Promise<void>;
}

/** The others who share a pace. */
export interface Others {
  /** Whether there is one. */
  readonly areThere: boolean;
  /** A domain that one of them found; undefined while none is known. */
  readonly found: string | undefined;
}

/** Keeps the pace in this process. */
export function createOwnPace(
  nowMs: number,
  {
    rate,
    learned,
    epochMs,
  }: {
    readonly rate: Rate | undefined;
    readonly learned: Learned | undefined;
    /** What is added to times of the clock to get milliseconds since 1970. */
    readonly epochMs: number;
  },
): PaceHome {
  const { limitPerMs = 0, cap = 0, statedUntilMs = 0, fixed: before } = learned ?? {};
  const pace = createPace(nowMs, { ...learned, limitPerMs, cap });
  if (rate) give(pace, rate.count / rate.perMs);
  const fixed = rate && resumeFixedRate(rate, before, nowMs, epochMs);
  if (statedUntilMs - epochMs > nowMs) {
    pace.shutUntilMs = statedUntilMs - epochMs;
    pace.isStated = true;
  }
  return {
    pace,
    fixed,
    nextMs: (now, inFlight) => {
      const paceMs = nextStartMs(pace, now, inFlight);
      return fixed ? Math.max(paceMs, nextFixedStartMs(fixed)) : paceMs;
    },
    start: (now) => {
      start(pace, now);
      if (fixed) bookFixed(fixed, now);
    },
    ended: (how, call, now) => {
      if (how === 'good') return accepted(pace, call, now);
      if (how === 'none') return ended(pace, call.sentAtMs);
      refused(pace, call, now, how);
    },
    slow: (ratePerMs, now) => slow(pace, ratePerMs, now),
    climb: (toPerMs, now) => climb(pace, toPerMs, now),
    resume: (now) => resume(pace, now),
  };
}

/**
 * A fixed rate that an earlier process may have begun. Of one that was killed nobody knows what it
 * made since it last saved: all slots from then on count as used, and the next one comes after a
 * whole interval.
 */
function resumeFixedRate(
  rate: Rate,
  before: StartedCalls | undefined,
  nowMs: number,
  epochMs: number,
): FixedRate {
  if (before?.rate.count !== rate.count || before.rate.perMs !== rate.perMs)
    return createFixedRate(rate);
  const lastSlotMs = before.lastSlotMs - epochMs;
  const gapMs = rate.perMs / rate.count;
  const used = before.isUnsaved ? Math.floor((nowMs - lastSlotMs) / gapMs) : 0;
  const count = Math.min(used, MOST_STARTS);
  const unsavedMs = Array.from({ length: count }, (_, at) => nowMs - (count - 1 - at) * gapMs);
  const fixed = createFixedRate(rate, [...before.startsMs.map((at) => at - epochMs), ...unsavedMs]);
  fixed.lastSlotMs = used > 0 ? nowMs : lastSlotMs;
  return fixed;
}
