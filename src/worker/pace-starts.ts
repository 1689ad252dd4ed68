import type { Pace } from './pace.ts';

/**
 * When calls may start at the pace as it is: evenly, at its rate, with no more under way than it
 * allows. Pure.
 */

/** A test that did not end within this time never will. */
const LOST_MS = 300_000;
/**
 * A start that comes later than it might have by this, and by so many latencies, was not wanted
 * before.
 */
const UNWANTED_MS = 2_000;
const UNWANTED_LATENCIES = 4;
/** The rate at which calls start is that over this time, or ten calls. */
const FLOW_MS = 500;
const MOST_UNDER_WAY = 1_000_000;
const TIMER_MS = 5;
const CATCH_UP_MS = 20;
const CATCH_UP_FACTOR = 1.5;

/** When the next call may start; Infinity: once one of those under way has ended. */
export function nextStartMs(pace: Pace, nowMs: number, inFlight: number): number {
  const { phase, state, cap, window, testMs, shutUntilMs } = pace;
  const most = Math.min(
    cap > 0 ? cap : MOST_UNDER_WAY,
    phase === 'starting' ? window : MOST_UNDER_WAY,
  );
  const isFull = state === 'testing' ? testMs > 0 && nowMs - testMs < LOST_MS : inFlight >= most;
  if (isFull) return Number.POSITIVE_INFINITY;
  return Math.max(nowMs, shutUntilMs, state === 'testing' ? 0 : slotMs(pace, nowMs));
}

/** The next slot at the present rate. What a timer was late is made up for, a little at a time. */
function slotMs({ nextMs, lastMs, ratePerMs }: Pace, nowMs: number): number {
  const gapMs = 1 / ratePerMs;
  if (gapMs < TIMER_MS) return Math.max(nextMs, nowMs - CATCH_UP_MS) - TIMER_MS;
  const dueMs = Math.max(Math.min(nextMs, lastMs + gapMs + CATCH_UP_MS), nowMs - CATCH_UP_MS);
  return Math.max(dueMs, lastMs + gapMs / CATCH_UP_FACTOR);
}

/** A call starts at `atMs`. */
export function start(pace: Pace, atMs: number): void {
  skipUnwanted(pace, atMs);
  if (pace.state === 'testing') pace.testMs = atMs;
  const gapMs = 1 / pace.ratePerMs;
  pace.nextMs = Math.max(pace.nextMs, atMs - Math.min(gapMs, CATCH_UP_MS)) + gapMs;
  const spanMs = Math.max(FLOW_MS, 10 * gapMs);
  const sinceMs = Math.max(0, atMs - Math.max(pace.lastMs, pace.shutUntilMs));
  pace.flowPerMs = pace.flowPerMs * Math.exp(-sinceMs / spanMs) + 1 / spanMs;
  pace.lastMs = Math.max(pace.lastMs, atMs);
}

/**
 * Time in which no call was wanted, or none could start (idle, paused, asleep), says nothing of the
 * API.
 */
function skipUnwanted(pace: Pace, atMs: number): void {
  const dueMs = Math.max(pace.lastMs, pace.shutUntilMs, pace.nextMs, pace.epochMs);
  const lateMs = atMs - dueMs;
  if (lateMs < Math.max(UNWANTED_MS, UNWANTED_LATENCIES * pace.latencyMs)) return;
  pace.epochMs += lateMs;
  pace.healthyMs += lateMs;
  if (pace.state !== 'flowing') pace.refusedMs += lateMs;
}
