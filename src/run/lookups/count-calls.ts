import { within } from '../../common/within.ts';
import type { CallsPer } from '../../guard/calendar-window.ts';
import type { CallLedger } from '../../guard/shared-budget.ts';
import type { CallsPerSummary } from '../../watch/summary.ts';

const LONGEST_MS = 2_000;

/**
 * Counts how many calls all runs with one credential have made, and how many are left; undefined
 * without a limit. A ledger that cannot be reached holds up the end of a run by two seconds at
 * most.
 */
export async function countCalls(
  ledger: CallLedger | undefined,
  limit: CallsPer | undefined,
): Promise<CallsPerSummary | undefined> {
  if (!ledger || !limit) return undefined;
  let summary: CallsPerSummary | undefined;
  const read = async (): Promise<void> => {
    const { taken: used, window } = await ledger.read();
    const left = Math.max(0, limit.count - used);
    summary = { ...limit, used, left, endsAtMs: window.endsAtMs };
  };
  await within(LONGEST_MS, read()).catch(() => {});
  return summary;
}
