import type { Database } from 'lmdb';

/** The pace that a run knew, as a later run finds it. */
export interface SavedPace {
  /** The pacer's state as it was written. The pacer has to check it. */
  readonly state: unknown;
  /** When it was written, in milliseconds since 1970. */
  readonly savedAtMs: number;
  /** When the limit in it was last reached, in milliseconds since 1970. */
  readonly learnedAtMs: number;
}

/** The key of a pace among the store's own notes. */
export function paceKey(id: string): string {
  return `pace:${id}`;
}

/** The saved pace; undefined when there is none, or it is malformed. */
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
    return undefined; // invalid JSON: a lost pace costs only a few seconds
  }
}
