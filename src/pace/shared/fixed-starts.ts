import { book, nextTurn, type PaceState } from '../pacer.ts';
import { MOST_STARTS, type PermittedBooking } from './booking.ts';

/**
 * A call may end this much earlier than expected. Its caller is then in time for the next start.
 */
const SOONER_MS = 20;

/**
 * Books the starts at a fixed rate for which the worker will have a caller when they are due. A
 * start that is not used in time is lost to all workers, and the rate with it. A start that is used
 * late comes too close to the next. Starts that are not booked are left for the next worker.
 *
 * @returns false when the rate would allow more
 */
export function bookFixedStarts(pace: PaceState, booking: PermittedBooking): boolean {
  const { startsMs, nowMs, untilMs } = booking;
  const { callMs } = pace.latency;
  const freeAtMs = expectFree(booking, callMs);
  while (startsMs.length < MOST_STARTS) {
    const next = nextTurn(pace, { nowMs, isAlone: false });
    if (next === 'wait_for_answer' || next.atMs > untilMs) return true;
    const freeMs = freeAtMs.shift();
    if (freeMs === undefined || freeMs - SOONER_MS > next.atMs) return false;
    book(pace, next.atMs);
    startsMs.push(next.atMs);
    freeAtMs.push(next.atMs + callMs);
  }
  return false;
}

/**
 * When the callers are expected to be free, ascending. Calls in flight are expected to end after
 * the average latency, but never sooner than if they ended evenly one after the other: nothing is
 * known about a call that takes longer than the average.
 */
function expectFree(
  { news, startsMs, nowMs, permits }: PermittedBooking,
  callMs: number,
): number[] {
  const { waiting, isBusy, callers, sentAtMs } = news;
  // A caller that is between two calls will make the next one.
  const free = Math.min(isBusy ? callers - sentAtMs.length : waiting, permits - sentAtMs.length);
  const apartMs = callMs / sentAtMs.length;
  const freeAtMs = [
    ...Array.from({ length: Math.max(0, free) }, () => nowMs),
    ...sentAtMs.map((sentMs, index) => Math.max(sentMs + callMs, nowMs + (index + 1) * apartMs)),
  ];
  for (const startMs of startsMs) {
    freeAtMs.shift();
    freeAtMs.push(Math.max(nowMs, startMs) + callMs);
  }
  return freeAtMs;
}
