import type { RepeatOptions } from 'bullmq';
import { CronExpressionParser } from 'cron-parser';

/**
 * When a job is due next, in milliseconds since 1970: what BullMQ asks for. A time that clocks leave out
 * comes as much later as they jump, one that is there twice counts once.
 *
 * cron-parser alone leaves a day out on which clocks jump at midnight, as in Cairo, Beirut, Havana and
 * Santiago, and gives up where they go back by half an hour, on Lord Howe. So what clocks show is asked
 * for too, in a zone where they never change.
 */
export function nextDue(afterMs: number, { pattern = '', tz = 'UTC' }: RepeatOptions): number {
  const dueMs = tryNext(pattern, tz, afterMs);
  let shownMs = shownBefore(afterMs, tz);
  for (;;) {
    shownMs = nextOf(pattern, 'UTC', shownMs);
    const onClockMs = instantOf(shownMs, tz);
    if (onClockMs > afterMs) return Math.min(dueMs, onClockMs);
    // It is there twice, and has been.
    if (Number.isFinite(dueMs)) return dueMs;
  }
}

function tryNext(cron: string, tz: string, afterMs: number): number {
  try {
    const dueMs = nextOf(cron, tz, afterMs);
    return dueMs > afterMs ? dueMs : Number.POSITIVE_INFINITY; // also where it says what has been
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

/** The first moment at which clocks show a time; where they leave it out, as much later as they jump. */
function instantOf(shownMs: number, tz: string): number {
  const earlierMs = shownMs - offsetAt(shownMs - DAY_MS, tz);
  const laterMs = shownMs - offsetAt(shownMs + DAY_MS, tz);
  const found = [earlierMs, laterMs].filter((ms) => shownAt(ms, tz) === shownMs);
  return found.length > 0 ? Math.min(...found) : earlierMs;
}

/** What clocks show, or would show, had they not jumped just now: what they left out is still to come. */
function shownBefore(ms: number, tz: string): number {
  const shownMs = shownAt(ms, tz);
  const jumpMs = offsetAt(ms, tz) - offsetAt(ms - DAY_MS, tz);
  const isJustOver = jumpMs > 0 && shownAt(ms - jumpMs, tz) < shownMs - jumpMs;
  return isJustOver ? shownMs - jumpMs : shownMs;
}

function offsetAt(ms: number, tz: string): number {
  return shownAt(ms, tz) - ms;
}

/** What clocks show at a moment, as if they showed UTC. */
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
