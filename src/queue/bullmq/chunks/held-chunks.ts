import { replyToOf } from '../contract.ts';
import { findRunId, OUTCOMES_QUEUE } from '../names.ts';
import type { HeldChunks } from './presence.ts';

/** Sums up the chunks that a worker has taken, by the run or queue that waits for them. */
export interface HeldChunkSums {
  /** Adds a chunk. Returns a function that removes it when it is finished. */
  take(data: unknown): () => void;
  readonly sums: readonly HeldChunks[];
}

interface Held {
  readonly replyTo: string;
  readonly lookups: number;
  readonly sinceMs: number;
}

export function createHeldChunkSums(now: () => number): HeldChunkSums {
  const held = new Set<Held>();
  return {
    take: (data) => {
      const replyTo = replyToOf(data) ?? OUTCOMES_QUEUE;
      const { domains } = (data ?? {}) as { readonly domains?: unknown };
      const lookups = Array.isArray(domains) ? domains.length : 0;
      const chunk = { replyTo, lookups, sinceMs: now() };
      held.add(chunk);
      return () => void held.delete(chunk);
    },
    get sums() {
      const sums = new Map<string, HeldChunks>();
      for (const { replyTo, lookups, sinceMs } of held) {
        const sum = sums.get(replyTo);
        const runId = findRunId(replyTo);
        sums.set(replyTo, {
          ...(runId === undefined ? { replyTo } : { runId }),
          chunks: (sum?.chunks ?? 0) + 1,
          lookups: (sum?.lookups ?? 0) + lookups,
          sinceMs: Math.min(sum?.sinceMs ?? sinceMs, sinceMs),
        });
      }
      return [...sums.values()];
    },
  };
}
