import { createPaceState } from './create-pace-state.ts';
import { SLOWEST_PER_MS } from './limit/estimate.ts';
import type { PaceState } from './pace-state.ts';
import { isNumber, isRecord, keepToldWait } from './saved-state.ts';

/** Limits seldom change from one night to the next; after longer than this they are looked for again. */
const FRESH_MS = 24 * 3_600_000;
/** How far below a fresh limit to begin. It was measured well, but others may use it by now. */
const FRESH_MARGIN = 0.02;
const OLD_SHARE = 0.5;
const FASTEST_PER_MS = 1_000;

/**
 * A state to start with, from one that was kept: younger than a day, it begins just under the limit
 * that was learned; older, at half of it and climbing. What is malformed makes a cold state.
 *
 * @param saved a state as it was written down, of whatever clock
 * @param savedAgeMs how long ago that was
 * @param learnedAgeMs how long ago the limit was seen last: a run of a few calls keeps what it was
 *   given. @default savedAgeMs
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

/** Calls at a kept cap before one more is tried. */
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
  // What the API publishes it will say again; until then it is as good as learned.
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
