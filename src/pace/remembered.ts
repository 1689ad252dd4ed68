import { LONGEST_TOLD_MS } from './gate.ts';
import { SLOWEST_PER_MS } from './limit/estimate.ts';
import { createPaceState, type PaceState } from './pace-state.ts';
import { bookFixed, type Rate } from './rate.ts';

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
  const kept = findFixed(saved, rate);
  if (!state.fixed || !kept) return state;
  const byMs = nowMs - savedAgeMs - kept.latestMs;
  for (const startMs of kept.startsMs) bookFixed(state.fixed, startMs + byMs);
  keepToldWait(state, kept.saved, { nowMs, savedAgeMs });
  return state;
}

interface KeptStarts {
  readonly saved: Readonly<Record<string, unknown>>;
  readonly latestMs: number;
  /** Earliest first. */
  readonly startsMs: readonly number[];
}

function findFixed(saved: unknown, rate: Rate): KeptStarts | undefined {
  if (!isRecord(saved)) return undefined;
  const { latestMs, fixed } = saved;
  if (!isRecord(fixed)) return undefined;
  const { rate: savedRate, recentStartsMs } = fixed;
  if (!isRecord(savedRate) || !isNumber(latestMs) || !Array.isArray(recentStartsMs)) {
    return undefined;
  }
  if (savedRate['count'] !== rate.count || savedRate['perMs'] !== rate.perMs) return undefined;
  const startsMs = recentStartsMs.filter(isNumber).sort((one, other) => one - other);
  // No start can be later than its state. A later one would hold calls up for any length of time.
  const isSound =
    startsMs.length === recentStartsMs.length && (startsMs.at(-1) ?? latestMs) <= latestMs;
  return isSound ? { saved, latestMs, startsMs } : undefined;
}

/**
 * Keeps a wait that the API stated before the state was saved: it holds for a time, whatever
 * process asks.
 */
function keepToldWait(
  state: PaceState,
  saved: Readonly<Record<string, unknown>>,
  { nowMs, savedAgeMs }: { readonly nowMs: number; readonly savedAgeMs: number },
): void {
  const { gateUntilMs, gateIsTold, statedUntilMs, latestMs } = saved;
  if (gateIsTold !== true || !isNumber(gateUntilMs) || !isNumber(latestMs)) return;
  const leftMs = gateUntilMs - latestMs - savedAgeMs;
  if (leftMs <= 0) return;
  state.gateUntilMs = nowMs + Math.min(leftMs, LONGEST_TOLD_MS);
  state.gateIsTold = true;
  if (isNumber(statedUntilMs)) state.statedUntilMs = nowMs + statedUntilMs - latestMs - savedAgeMs;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
