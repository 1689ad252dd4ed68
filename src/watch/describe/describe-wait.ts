import { formatDuration } from '../../job/values/duration.ts';
import type { HeldBy, Progress, WorkProgress } from '../events.ts';
import { formatCount } from './format-count.ts';

/** Why no call starts, in words. The first form is the longest, for where there is room. */
export type WaitWords = readonly [string, ...string[]];

/** A shorter wait is a normal part of the work. */
const WORTH_TELLING_MS = 1_000;

/** Describes what keeps calls from starting; undefined if nothing does. */
export function describeWait(
  progress: WorkProgress & Pick<Progress, 'isPaused' | 'heldBy'>,
): WaitWords | undefined {
  const { isPaused, heldBy, outage, pace, waitMs } = progress;
  if (isPaused) return PAUSED;
  if (heldBy === 'no_worker') return HELD[heldBy];
  if (outage !== undefined) return [outage, 'The API is out', 'API out'];
  const time = formatDuration(waitMs);
  if (pace?.why === 'backing_off') {
    return ['The API answers 429 (slow down): backing off', '429: backing off'];
  }
  if (waitMs >= WORTH_TELLING_MS && pace?.why === 'told_to_wait') {
    return [`The API says to wait: calls go on in ${time}`, `told to wait ${time}`, `wait ${time}`];
  }
  if (waitMs >= WORTH_TELLING_MS) {
    return [`Held to the rate: next call in ${time}`, `next call in ${time}`, `next in ${time}`];
  }
  return heldBy && HELD[heldBy];
}

/** `3 pending until 10:42`: the lookups that the API has accepted and has no answer ready for. */
export function describePending(count: number, untilMs = 0): WaitWords | undefined {
  if (count === 0) return undefined;
  const short = `${formatCount(count)} pending`;
  return untilMs > 0 ? [`${short} until ${timeOf(untilMs)}`, short] : [short];
}

/** The time of day by the clock of this machine, rounded up to the minute. */
function timeOf(atMs: number): string {
  const at = new Date(Math.ceil(atMs / MINUTE_MS) * MINUTE_MS);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

const MINUTE_MS = 60_000;

const PAUSED: WaitWords = ['Paused: no new call starts until it is resumed', 'paused'];

const HELD: Readonly<Record<HeldBy, WaitWords>> = {
  no_worker: ['No worker is there to make the lookups', 'no worker'],
  retry_budget: ['Too many calls fail: retries wait for their turn', 'retries wait'],
  another_run: [
    'Another run asks about what is left: waiting for its answers',
    'waits for another run',
  ],
};
