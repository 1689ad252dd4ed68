import { z } from 'zod';
import { DAY_MS } from '../common/format.ts';
import { isLimitUnsure, type Pace } from './pace.ts';
import type { FixedRate } from './rate.ts';

/**
 * What one run learned of the pace, for the next one, and what is said of it. Plain data that
 * survives JSON; its times are milliseconds since 1970, since each process has a clock of its own.
 */
export interface Learned {
  /** In calls per millisecond; 0 while none was found. */
  readonly limitPerMs: number;
  /** Whether headers stated it. @default false */
  readonly isPublished?: boolean | undefined;
  /** Calls that may be under way; 0 for no bound. */
  readonly cap: number;
  /** Calls that a window holds. @default it has none */
  readonly windowCalls?: number | undefined;
  /** Whether the limit may be none: it was found by few refusals. @default false */
  readonly isUnsure?: boolean | undefined;
  /** Until when the API said to wait; 0 when it did not. */
  readonly statedUntilMs: number;
  readonly fixed?: StartedCalls | undefined;
}

/** What calls a fixed rate still counts. */
export interface StartedCalls extends Pick<FixedRate, 'rate' | 'lastSlotMs'> {
  /** When they started, ascending. */
  readonly startsMs: readonly number[];
  /** Whether more may have started since: the process goes on, or was killed. @default none has */
  readonly isUnsaved?: boolean | undefined;
}

const LEARNED = z.object({
  limitPerMs: z.number().min(0).max(1_000),
  isPublished: z.boolean().optional(),
  cap: z.int().min(0).max(100_000),
  windowCalls: z.number().min(0).max(1_000).optional(),
  isUnsure: z.boolean().optional(),
  statedUntilMs: z.number(),
  fixed: z
    .object({
      rate: z.object({ count: z.number().positive(), perMs: z.number().positive() }),
      lastSlotMs: z.number(),
      startsMs: z.array(z.number()).max(1_000),
      isUnsaved: z.boolean().optional(),
    })
    .optional(),
});

/** A limit that was reached longer ago is looked for again, from half of it on. */
const OLD_SHARE = 0.5;

/**
 * Reads what a store has kept. What is malformed, or of an older version, is as good as nothing.
 *
 * @param age how long ago the limit was reached, in milliseconds
 * @param options `nowMs` since 1970, and the longest wait that a run keeps
 */
export function readLearned(
  saved: unknown,
  ageMs: number,
  { nowMs, maxWaitMs }: { readonly nowMs: number; readonly maxWaitMs: number },
): Learned | undefined {
  const { success, data } = LEARNED.safeParse(saved);
  if (!success) return undefined;
  const isOld = !(ageMs <= DAY_MS);
  const { statedUntilMs } = data;
  return {
    limitPerMs: data.limitPerMs * (isOld ? OLD_SHARE : 1),
    isPublished: data.isPublished,
    cap: isOld ? 0 : data.cap,
    windowCalls: data.windowCalls,
    isUnsure: data.isUnsure,
    // For a longer wait a run stops: the next one asks whether it still holds.
    statedUntilMs: statedUntilMs - nowMs > maxWaitMs ? 0 : statedUntilMs,
    fixed: data.fixed && {
      ...data.fixed,
      lastSlotMs: Math.min(data.fixed.lastSlotMs, nowMs),
      startsMs: data.fixed.startsMs.filter((at) => at <= nowMs),
    },
  };
}

/** @param epochMs what is added to the times of the pace to get milliseconds since 1970 */
export function learnedOf(pace: Pace, fixed: FixedRate | undefined, epochMs: number): Learned {
  const { limitPerMs, cap, windowCalls, isStated, shutUntilMs } = pace;
  return {
    limitPerMs: isFound(pace) ? limitPerMs : 0,
    isPublished: pace.phase === 'published' || undefined,
    cap,
    windowCalls: windowCalls || undefined,
    isUnsure: isLimitUnsure(pace) || undefined,
    statedUntilMs: isStated ? shutUntilMs + epochMs : 0,
    fixed: fixed && {
      rate: fixed.rate,
      lastSlotMs: fixed.lastSlotMs + epochMs,
      startsMs: startsOf(fixed).map((at) => at + epochMs),
    },
  };
}

/** The starts that are known, in their order. */
function startsOf({ recentStartsMs, oldestStart }: FixedRate): readonly number[] {
  return [...recentStartsMs.slice(oldestStart), ...recentStartsMs.slice(0, oldestStart)];
}

/** What calls are held to. */
export interface Limit {
  /**
   * Where it comes from: `fixed` was given by the user, `published` is in the API's headers,
   * `learned` was found, `unknown` was not reached yet.
   */
  readonly limitIs: 'fixed' | 'published' | 'learned' | 'unknown';
  /** Calls per second: as given, as the API publishes it, or as estimated. */
  readonly limitPerSecond?: number | undefined;
  /** Most calls at the same time, if the API limits them. */
  readonly mostAtOnce?: number | undefined;
}

/** The present pace and the reason for it, for people. */
export interface PaceDescription {
  readonly limit: Limit;
  /** How long no call may start, in milliseconds; 0 when calls may start. */
  readonly waitMs: number;
  /** How long the API itself said to wait, when that is why. */
  readonly statedMs?: number;
  /** Absent while calls succeed. */
  readonly failing?: Failing;
}

/** That no call has succeeded for a while. */
export interface Failing {
  /** Whether the API cannot be reached or has a fault, rather than refusing calls. */
  readonly isOut: boolean;
  readonly lastedMs: number;
  /** Why the last call failed; undefined where only other processes have seen it. */
  readonly reason?: string | undefined;
}

export function describePace(
  pace: Pace,
  fixed: FixedRate | undefined,
  nowMs: number,
): Omit<PaceDescription, 'failing'> {
  const { cap, isStated } = pace;
  const waitMs = Math.max(0, pace.shutUntilMs - nowMs);
  return {
    limit: { ...describeRate(pace, fixed), ...(cap > 0 && { mostAtOnce: cap }) },
    waitMs,
    ...(isStated && waitMs > 0 ? { statedMs: waitMs } : {}),
  };
}

/** The user's rate, unless the API's limit is known to be lower. */
function describeRate(pace: Pace, fixed: FixedRate | undefined): Omit<Limit, 'mostAtOnce'> {
  const givenPerMs = fixed ? fixed.rate.count / fixed.rate.perMs : Number.POSITIVE_INFINITY;
  if (isFound(pace) && pace.limitPerMs < givenPerMs) {
    const limitIs = pace.phase === 'published' ? 'published' : 'learned';
    return { limitIs, limitPerSecond: pace.limitPerMs * 1_000 };
  }
  return fixed ? { limitIs: 'fixed', limitPerSecond: givenPerMs * 1_000 } : { limitIs: 'unknown' };
}

/** Whether a limit of the API's own is known. Calls that go far faster show that it is none. */
const isFound = ({ phase, ratePerMs, limitPerMs }: Pace): boolean =>
  phase === 'published' || (phase === 'cruising' && ratePerMs < DISPROVED * limitPerMs);

const DISPROVED = 2.5;
