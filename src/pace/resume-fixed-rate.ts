import { createPaceState } from './create-pace-state.ts';
import { bookFixed } from './fixed-rate.ts';
import type { PaceState } from './pace-state.ts';
import type { Rate } from './rate.ts';
import { isNumber, isRecord, keepToldWait } from './saved-state.ts';

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
  const kept = findKept(saved, rate);
  if (!state.fixed || !kept) return state;
  const byMs = nowMs - savedAgeMs - kept.latestMs;
  for (const startMs of kept.startsMs) bookFixed(state.fixed, startMs + byMs);
  keepToldWait(state, kept.saved, { nowMs, savedAgeMs });
  return state;
}

interface Kept {
  readonly saved: Readonly<Record<string, unknown>>;
  readonly latestMs: number;
  /** Earliest first. */
  readonly startsMs: readonly number[];
}

function findKept(saved: unknown, rate: Rate): Kept | undefined {
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
