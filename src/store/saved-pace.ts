import type { Database } from 'lmdb';

/** What a run knew of the pace, as another one finds it. */
export interface SavedPace {
  /** The pacer's state, as it was written down. To be checked by whoever knows what it should be. */
  readonly state: unknown;
  /** When that was, in milliseconds since 1970. */
  readonly savedAtMs: number;
  /** When the limit in it was seen last, in milliseconds since 1970. */
  readonly learnedAtMs: number;
}

/** The place of a pace among the store's own notes. */
export function paceKey(id: string): string {
  return `pace:${id}`;
}

/** What was saved; undefined when there is nothing, or nonsense. */
export function findSavedPace(meta: Database<unknown, string>, id: string): SavedPace | undefined {
  const value = read(meta, paceKey(id));
  if (typeof value !== 'object' || value === null) return undefined;
  const { state, savedAtMs, learnedAtMs } = value as Partial<SavedPace>;
  if (!Number.isFinite(savedAtMs) || !Number.isFinite(learnedAtMs)) return undefined;
  return { state, savedAtMs: Number(savedAtMs), learnedAtMs: Number(learnedAtMs) };
}

function read(meta: Database<unknown, string>, key: string): unknown {
  try {
    return meta.get(key);
  } catch {
    return undefined; // bytes that are no JSON: an answer that is lost costs money, a pace a few seconds
  }
}
