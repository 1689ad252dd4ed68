import { formatDuration } from '../common/format.ts';
import type { OnNotice } from '../common/notice.ts';

/** A smaller difference does no harm: most crons name minutes. */
const OFF_MS = 60_000;

/**
 * Reports when the clock of this machine differs from that of Redis, and when it no longer does.
 * BullMQ makes jobs due by the clock of whichever machine is ahead.
 *
 * @returns a function to call again and again with how far the clock is ahead, in milliseconds
 */
export function createClockNotice(onNotice: OnNotice): (aheadMs: number) => void {
  let wasOff = false;
  return (aheadMs) => {
    const isOff = Math.abs(aheadMs) > OFF_MS;
    if (isOff && !wasOff) onNotice(describe(aheadMs));
    if (!isOff && wasOff) {
      onNotice('The clock of this machine is right again.', { level: 'info' });
    }
    wasOff = isOff;
  };
}

function describe(aheadMs: number): string {
  const off = formatDuration(Math.abs(aheadMs));
  return aheadMs > 0
    ? `The clock of this machine is ${off} ahead of that of Redis: jobs start that much too early, and if this machine goes away, the next ones start that much too late. Set its clock, for example by NTP.`
    : `The clock of this machine is ${off} behind that of Redis: jobs that only this machine keeps start that much too late. Set its clock, for example by NTP.`;
}
