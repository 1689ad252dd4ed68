import { createPaceState } from './create-pace-state.ts';
import { SLOWEST_PER_MS } from './limit/estimate.ts';
import type { PaceState } from './pace-state.ts';
import { isNumber, isRecord, keepToldWait } from './saved-state.ts';

/** Limits seldom change from one night to the next. A limit older than this is looked for again. */
const FRESH_MS = 24 * 3_600_000;
/**
 * How far below a fresh limit the rate begins, as a share. The limit was measured well, but other
 * clients may use it by now.
 */
const FRESH_MARGIN = 0.02;
const OLD_SHARE = 0.5;
const FASTEST_PER_MS = 1_000;

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
  const kept = findKept(saved);
  if (!kept || !(savedAgeMs >= 0)) return state;
  const { limitPerMs, ratePerMs, cap } = kept;
  keepToldWait(state, kept.saved, { nowMs, savedAgeMs });
  if (!(learnedAgeMs <= FRESH_MS)) {
    state.ratePerMs = (limitPerMs || ratePerMs) * OLD_SHARE;
    return state;
  }
  state.isBy503 = kept.saved['isBy503'] === true;
  state.concurrency.cap = cap;
  state.concurrency.nextTrialAfter = cap > 0 ? FIRST_TRIAL_AFTER : 0;
  if (limitPerMs === 0) {
    state.ratePerMs = ratePerMs;
    return state;
  }
  state.phase = 'cruising';
  state.estimate.limitPerMs = limitPerMs;
  state.estimate.margin = FRESH_MARGIN;
  state.estimate.confidence = 1;
  state.ratePerMs = limitPerMs * (1 - FRESH_MARGIN);
  return state;
}

/** Calls at a saved cap before a higher one is tried. */
const FIRST_TRIAL_AFTER = 100;

interface Kept {
  readonly saved: Readonly<Record<string, unknown>>;
  readonly limitPerMs: number;
  readonly ratePerMs: number;
  readonly cap: number;
}

function findKept(saved: unknown): Kept | undefined {
  if (!isRecord(saved) || saved['fixed'] !== null) return undefined;
  const { estimate, concurrency, published } = saved;
  if (!isRecord(estimate) || !isRecord(concurrency) || !isRecord(published)) return undefined;
  // The API will publish its limit again. Until then it counts as learned.
  const limitPerMs =
    published['isTrusted'] === true ? published['ratePerMs'] : estimate['limitPerMs'];
  const { ratePerMs, gateUntilMs, latestMs } = saved;
  const { cap } = concurrency;
  if (!isRate(ratePerMs) || !(limitPerMs === 0 || isRate(limitPerMs))) return undefined;
  if (!isNumber(gateUntilMs) || !isNumber(latestMs) || !Number.isSafeInteger(cap)) return undefined;
  if (Number(cap) < 0) return undefined;
  return { saved, limitPerMs, ratePerMs, cap: Number(cap) };
}

function isRate(value: unknown): value is number {
  return isNumber(value) && value >= SLOWEST_PER_MS && value <= FASTEST_PER_MS;
}
