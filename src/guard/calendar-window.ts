/** How many calls may be made in a minute, hour, day or month of the calendar. */
export interface CallsPer {
  readonly count: number;
  readonly unit: CalendarUnit;
}

export type CalendarUnit = 'minute' | 'hour' | 'day' | 'month';

/** One minute, hour, day or month, in UTC. */
export interface CalendarWindow {
  /** A unique name, such as `2026-11-21` for a day. */
  readonly id: string;
  /** When the next one begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/** How many characters of an ISO timestamp name its window. */
const ID_LENGTH = { minute: 16, hour: 13, day: 10, month: 7 } as const;
const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The window of a moment. UTC has no hour that occurs twice and is the same everywhere. */
export function windowAt(unit: CalendarUnit, nowMs: number): CalendarWindow {
  const now = new Date(nowMs);
  return { id: now.toISOString().slice(0, ID_LENGTH[unit]), endsAtMs: endOf(unit, now) };
}

function endOf(unit: CalendarUnit, now: Date): number {
  if (unit === 'month') return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const lengthMs = LENGTH_MS[unit];
  return (Math.floor(now.getTime() / lengthMs) + 1) * lengthMs;
}
