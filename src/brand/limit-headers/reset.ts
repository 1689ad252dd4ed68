import { type AnswerTime, membersOf } from './field.ts';
import { findDateWaitMs, findNumber, ROUNDED_MS, waitUntilMs, YEAR_MS } from './time.ts';

/**
 * Reads when a limit is lifted, as milliseconds from now. APIs send seconds from now, seconds,
 * milliseconds or microseconds since 1970, durations such as `6m0s`, and dates. Of several values
 * the latest counts, up to a year.
 *
 * @param roundedMs by how much seconds since 1970 may have been rounded down
 */
export function findResetMs(
  text: string,
  time: AnswerTime,
  roundedMs: number = ROUNDED_MS,
): number | undefined {
  const whole = resetMs(text.trim(), time, roundedMs);
  // Split only now, because a date has a comma too.
  if (whole !== undefined || !text.includes(',')) return whole;
  const resets = membersOf(text)
    .map((member) => resetMs(member, time, roundedMs))
    .filter((reset) => reset !== undefined);
  return resets.length > 0 ? Math.max(...resets) : undefined;
}

/** A number from here on cannot be in the next smaller unit: that would be tens of years. */
const EPOCH_SECONDS_FROM = 1e9;
export const EPOCH_MILLISECONDS_FROM = 1e11;
const EPOCH_MICROSECONDS_FROM = 1e14;

function resetMs(text: string, time: AnswerTime, roundedMs: number): number | undefined {
  // Digits first, because a date parser takes `5` for a date.
  const number = findNumber(text);
  if (number === undefined) return findDurationMs(text) ?? findDateWaitMs(text, time);
  if (number >= EPOCH_MICROSECONDS_FROM) return waitUntilMs(number / 1_000, time, 0);
  if (number >= EPOCH_MILLISECONDS_FROM) return waitUntilMs(number, time, 0);
  if (number >= EPOCH_SECONDS_FROM) return waitUntilMs(number * 1_000, time, roundedMs);
  return Math.min(number * 1_000, YEAR_MS);
}

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|[dhms]))+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)(ms|us|µs|ns|[dhms])/g;
const LONGEST_DURATION = 64;
const UNIT_MS: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

function findDurationMs(text: string): number | undefined {
  if (text.length > LONGEST_DURATION || !DURATION.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(DURATION_PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  }
  return Math.min(totalMs, YEAR_MS);
}
