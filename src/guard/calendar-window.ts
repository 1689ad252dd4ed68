/** How many calls may be made in a minute, hour, day or month of the calendar. */
export interface CallsPer {
  readonly count: number;
  readonly unit: CalendarUnit;
}

export type CalendarUnit = 'minute' | 'hour' | 'day' | 'month';

/** One minute, hour, day or month, in UTC. */
export interface CalendarWindow {
  /** Tells it from all others, such as `2026-11-21` for a day. */
  readonly id: string;
  /** When the next one begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/** How much of an ISO timestamp names the window that it lies in. */
const ID_LENGTH = { minute: 16, hour: 13, day: 10, month: 7 } as const;
const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The window that a moment lies in. UTC knows no hour that comes twice, and is the same everywhere. */
export function windowAt(unit: CalendarUnit, nowMs: number): CalendarWindow {
  const now = new Date(nowMs);
  return { id: now.toISOString().slice(0, ID_LENGTH[unit]), endsAtMs: endOf(unit, now) };
}

function endOf(unit: CalendarUnit, now: Date): number {
  if (unit === 'month') return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const lengthMs = LENGTH_MS[unit];
  return (Math.floor(now.getTime() / lengthMs) + 1) * lengthMs;
}
