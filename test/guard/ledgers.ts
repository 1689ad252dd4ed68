import { blockSizeOf, type CallLedger, type CallsPer, windowAt } from '../../src/guard/budget.ts';

/** A ledger in memory, and what was taken of each window. */
export interface TestLedger {
  readonly ledger: CallLedger;
  readonly taken: ReadonlyMap<string, number>;
}

/** @param now the ledger's clock */
export function createTestLedger(limit: CallsPer, now: () => number = () => 0): TestLedger {
  const taken = new Map<string, number>();
  const blockSize = blockSizeOf(limit);
  return {
    taken,
    ledger: {
      take: async () => {
        const nowMs = now();
        const window = windowAt(limit.unit, nowMs);
        const before = taken.get(window.id) ?? 0;
        const calls = Math.max(0, Math.min(blockSize, limit.count - before));
        taken.set(window.id, before + calls);
        return { calls, window, nowMs };
      },
      read: async () => {
        const window = windowAt(limit.unit, now());
        return { taken: taken.get(window.id) ?? 0, window };
      },
      giveBack: async (calls, { id }) => {
        taken.set(id, (taken.get(id) ?? 0) - calls);
      },
    },
  };
}
