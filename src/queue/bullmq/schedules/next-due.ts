import type { RepeatOptions } from 'bullmq';
import { CronExpressionParser } from 'cron-parser';

/**
 * When a job is due next, in milliseconds since 1970, in the form that BullMQ asks for. A time that
 * clocks skip is due later by the length of their jump. A time that occurs twice counts once.
 *
 * cron-parser alone skips a day on which clocks jump at midnight, as in Cairo, Beirut, Havana and
 * Santiago. It throws where clocks go back by half an hour, on Lord Howe. So the next wall-clock
 * time is also computed, in a zone where clocks never change.
 */
export function nextDue(afterMs: number, { pattern = '', tz = 'UTC' }: RepeatOptions): number {
  const dueMs = tryNext(pattern, tz, afterMs);
  let shownMs = shownBefore(afterMs, tz);
  for (;;) {
    shownMs = nextOf(pattern, 'UTC', shownMs);
    const onClockMs = instantOf(shownMs, tz);
    if (onClockMs > afterMs) return Math.min(dueMs, onClockMs);
    // The time occurs twice, and the first time is past.
    if (Number.isFinite(dueMs)) return dueMs;
  }
}

function tryNext(cron: string, tz: string, afterMs: number): number {
  try {
    const dueMs = nextOf(cron, tz, afterMs);
    return dueMs > afterMs ? dueMs : Number.POSITIVE_INFINITY; // it may return a past time
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function nextOf(cron: string, tz: string, afterMs: number): number {
  return CronExpressionParser.parse(cron, { tz, currentDate: new Date(afterMs) })
    .next()
    .getTime();
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * The first moment at which clocks show a time. If they skip it, later by the length of their jump.
 */
function instantOf(shownMs: number, tz: string): number {
  const earlierMs = shownMs - offsetAt(shownMs - DAY_MS, tz);
  const laterMs = shownMs - offsetAt(shownMs + DAY_MS, tz);
  const found = [earlierMs, laterMs].filter((ms) => shownAt(ms, tz) === shownMs);
  return found.length > 0 ? Math.min(...found) : earlierMs;
}

/**
 * The time that clocks show, or would show had they not just jumped. A time that they skipped is
 * still to come then.
 */
function shownBefore(ms: number, tz: string): number {
  const shownMs = shownAt(ms, tz);
  const jumpMs = offsetAt(ms, tz) - offsetAt(ms - DAY_MS, tz);
  const isJustOver = jumpMs > 0 && shownAt(ms - jumpMs, tz) < shownMs - jumpMs;
  return isJustOver ? shownMs - jumpMs : shownMs;
}

function offsetAt(ms: number, tz: string): number {
  return shownAt(ms, tz) - ms;
}

/** The time that clocks show at a moment, encoded as if it were UTC. */
function shownAt(ms: number, tz: string): number {
  const parts = clockOf(tz).formatToParts(ms);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((each) => each.type === type)?.value);
  const seconds = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return seconds + (ms % 1_000);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone);
  clock ??= new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  clocks.set(timeZone, clock);
  return clock;
}
