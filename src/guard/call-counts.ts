/** How many calls ended in a second, and how many of them failed. */
export interface SecondCount {
  /** Seconds since the start of the clock. */
  readonly second: number;
  calls: number;
  failures: number;
}

/** The last seconds, oldest first. Never more than `WINDOW_SECONDS`. */
export type CallCounts = SecondCount[];

const WINDOW_SECONDS = 30;

/** Adds a call that ended now and drops the seconds before the window. */
export function addCall(
  counts: CallCounts,
  { isFailure, nowMs }: { readonly isFailure: boolean; readonly nowMs: number },
): void {
  const last = latestAt(counts, Math.floor(nowMs / 1_000));
  last.calls += 1;
  if (isFailure) last.failures += 1;
}

/** All calls of the window. */
export function totalOf(counts: CallCounts): { readonly calls: number; readonly failures: number } {
  let calls = 0;
  let failures = 0;
  for (const count of counts) {
    calls += count.calls;
    failures += count.failures;
  }
  return { calls, failures };
}

function latestAt(counts: CallCounts, second: number): SecondCount {
  const last = counts.at(-1);
  if (last?.second === second) return last;
  // The call was reported a little out of order, and is still in the window.
  if (last && second < last.second && last.second - second < 2) return last;
  const from = second - WINDOW_SECONDS;
  // Seconds in the future are left over from before a clock was set back.
  const kept = counts.filter((count) => count.second > from && count.second < second);
  const added: SecondCount = { second, calls: 0, failures: 0 };
  counts.splice(0, counts.length, ...kept, added);
  return added;
}
