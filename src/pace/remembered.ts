import { z } from 'zod';
import { DAY_MS } from '../common/format.ts';
import { FASTEST_PER_MS, LONGEST_CLOSED_MS } from './gate.ts';
import { FIRST_TRIAL_AFTER } from './limit/concurrency-limit.ts';
import { SLOWEST_PER_MS } from './limit/estimate.ts';
import { createPaceState, type PaceState } from './pace-state.ts';
import { bookFixed, type Rate } from './rate.ts';

/** Limits seldom change from one night to the next. A limit older than this is looked for again. */
const FRESH_MS = DAY_MS;
/**
 * How far below a fresh limit the rate begins, as a share. The limit was measured well, but other
 * clients may use it by now.
 */
const FRESH_MARGIN = 0.02;
const OLD_SHARE = 0.5;

/**
 * Makes a first state from a saved one. When that is younger than a day, the rate begins just under
 * the learned limit. Otherwise it begins at half of it and climbs. A malformed state makes a cold
 * state.
 *
 * @param saved a parsed state, of any clock
 * @param savedAgeMs how long ago it was saved
 * @param learnedAgeMs how long ago the limit was last reached. A run of a few calls saves the limit
 *   it was given. @default savedAgeMs
 */
export function warmState(
  saved: unknown,
  nowMs: number,
  savedAgeMs: number,
  learnedAgeMs: number = savedAgeMs,
): PaceState {
  const state = createPaceState({}, nowMs);
  const { success, data } = LEARNED.safeParse(saved);
  if (!success || !(savedAgeMs >= 0)) return state;
  const { estimate, published, ratePerMs, concurrency, isBy503 } = data;
  // The API will publish its limit again. Until then it counts as learned.
  const limitPerMs = published.isTrusted ? published.ratePerMs : estimate.limitPerMs;
  keepStatedWait(state, saved, { nowMs, savedAgeMs });
  if (!(learnedAgeMs <= FRESH_MS)) {
    state.ratePerMs = (limitPerMs || ratePerMs) * OLD_SHARE;
    return state;
  }
  state.isBy503 = isBy503;
  state.concurrency.cap = concurrency.cap;
  state.concurrency.nextTrialAfter = FIRST_TRIAL_AFTER;
  if (limitPerMs === 0) {
    state.ratePerMs = ratePerMs;
    return state;
  }
  startAtLimit(state, limitPerMs);
  return state;
}

/**
 * A first state for an API of which nothing was learned yet, but whose rate is documented. It is
 * taken for a limit that was learned just now: throttles lower it, and it is tested for more.
 */
export function documentedState({ count, perMs }: Rate, nowMs: number): PaceState {
  const state = createPaceState({}, nowMs);
  const limitPerMs = Math.min(FASTEST_PER_MS, Math.max(SLOWEST_PER_MS, count / perMs));
  startAtLimit(state, limitPerMs);
  return state;
}

function startAtLimit(state: PaceState, limitPerMs: number): void {
  state.phase = 'cruising';
  state.estimate.limitPerMs = limitPerMs;
  state.estimate.margin = FRESH_MARGIN;
  state.estimate.confidence = 1;
  state.ratePerMs = limitPerMs * (1 - FRESH_MARGIN);
}

const RATE = z.number().min(SLOWEST_PER_MS).max(FASTEST_PER_MS);
const LIMIT = RATE.or(z.literal(0));

/** What is kept of a state that was learned. */
const LEARNED = z.object({
  fixed: z.null(),
  ratePerMs: RATE,
  isBy503: z.boolean().catch(false),
  gateUntilMs: z.number(),
  latestMs: z.number(),
  estimate: z.object({ limitPerMs: LIMIT }),
  published: z.object({ isTrusted: z.boolean().catch(false), ratePerMs: LIMIT }),
  concurrency: z.object({ cap: z.int().min(0) }),
});

/**
 * A state that goes on with a fixed rate where a saved one left off, so that two successive runs do
 * not exceed the rate either. A saved state that is malformed or has another rate makes a new
 * state.
 *
 * @param saved a parsed state, of any clock
 * @param options `savedAgeMs`: how long ago it was saved. A clock that was set back makes it
 *   negative; the starts then count as if they had just happened.
 */
export function resumeFixedRate(
  saved: unknown,
  options: { readonly rate: Rate; readonly nowMs: number; readonly savedAgeMs: number },
): PaceState {
  const { rate, nowMs } = options;
  const savedAgeMs = options.savedAgeMs > 0 ? options.savedAgeMs : 0;
  const state = createPaceState({ rate }, nowMs);
  const { success, data } = FIXED.safeParse(saved);
  const { latestMs = 0, fixed } = data ?? {};
  const isSame = fixed?.rate.count === rate.count && fixed.rate.perMs === rate.perMs;
  const startsMs = fixed?.recentStartsMs.sort((one, other) => one - other) ?? [];
  // No start can be later than its state. A later one would hold calls up for any length of time.
  const isSound = success && isSame && (startsMs.at(-1) ?? latestMs) <= latestMs;
  if (!state.fixed || !isSound) return state;
  const byMs = nowMs - savedAgeMs - latestMs;
  for (const startMs of startsMs) bookFixed(state.fixed, startMs + byMs);
  keepStatedWait(state, saved, { nowMs, savedAgeMs });
  return state;
}

/** What is kept of a state with a fixed rate. */
const FIXED = z.object({
  latestMs: z.number(),
  fixed: z.object({
    rate: z.object({ count: z.number(), perMs: z.number() }),
    recentStartsMs: z.array(z.number()),
  }),
});

/**
 * Keeps a wait that the API stated before the state was saved: it holds for a time, whatever
 * process asks.
 */
function keepStatedWait(
  state: PaceState,
  saved: unknown,
  { nowMs, savedAgeMs }: { readonly nowMs: number; readonly savedAgeMs: number },
): void {
  const { success, data } = STATED.safeParse(saved);
  if (!success) return;
  const byMs = nowMs - savedAgeMs - data.latestMs;
  const leftMs = data.gateUntilMs + byMs - nowMs;
  state.gateUntilMs = nowMs + Math.min(leftMs, LONGEST_CLOSED_MS);
  state.gateIsTold = true;
  if (data.statedUntilMs !== undefined) state.statedUntilMs = data.statedUntilMs + byMs;
}

const STATED = z.object({
  latestMs: z.number(),
  gateUntilMs: z.number(),
  gateIsTold: z.literal(true),
  statedUntilMs: z.number().optional().catch(undefined),
});
