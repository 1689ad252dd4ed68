import type { Database } from 'lmdb';
import { blockSizeOf, type CallLedger, type CallsPer, windowAt } from '../guard/shared-budget.ts';

export interface CallLedgerOptions {
  /** Calls taken, by credential and unit. */
  readonly table: Database<unknown, string>;
  /** A hash of credential and API that does not reveal the credential. */
  readonly id: string;
  readonly limit: CallsPer;
  /** Makes a change under the store's lock, and turns its errors into messages for users. */
  readonly write: <T>(commit: () => Promise<T>) => Promise<T>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Counts calls in the store. LMDB lets one process at a time change the count. */
export function createCallLedger(options: CallLedgerOptions): CallLedger {
  const { table, id, limit, write, now } = options;
  const key = `${id}:${limit.unit}`;
  const blockSize = blockSizeOf(limit);

  return {
    take: async () =>
      await write(() =>
        table.transaction(() => {
          const nowMs = now();
          const window = windowAt(limit.unit, nowMs);
          const taken = takenIn(table.get(key), window.id);
          const calls = Math.max(0, Math.min(blockSize, limit.count - taken));
          if (calls > 0) table.putSync(key, { window: window.id, taken: taken + calls });
          return { calls, window, nowMs };
        }),
      ),
    read: async () => {
      const window = windowAt(limit.unit, now());
      return { taken: takenIn(table.get(key), window.id), window };
    },
    giveBack: async (calls, window) =>
      await write(() =>
        table.transaction(() => {
          const taken = takenIn(table.get(key), window.id);
          if (taken >= calls) table.putSync(key, { window: window.id, taken: taken - calls });
        }),
      ),
  };
}

/** The calls taken in a window; 0 when the table holds another window. */
function takenIn(value: unknown, windowId: string): number {
  if (typeof value !== 'object' || value === null) return 0;
  const { window, taken } = value as { window?: unknown; taken?: unknown };
  return window === windowId && typeof taken === 'number' ? taken : 0;
}
