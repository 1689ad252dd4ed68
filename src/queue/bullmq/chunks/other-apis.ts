/** Decides what a worker does with chunks for other APIs than its own. */
export interface OtherApis {
  /**
   * Whether such a chunk is refused. It is left to others while there is a worker for its API, and
   * for some seconds after, in case that worker is only restarted.
   */
  mayRefuse(chunk: string, api: string): Promise<boolean>;
}

export interface OtherApisOptions {
  /** Whether any worker asks an API. */
  readonly isServed: (api: string) => Promise<boolean>;
  /** Called once for each API whose chunks are left to other workers. */
  readonly onLeft: (api: string) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly nowMs?: () => number;
}

const PATIENCE_MS = 5_000;

export function createOtherApis({
  isServed,
  onLeft,
  nowMs = () => performance.now(),
}: OtherApisOptions): OtherApis {
  const told = new Set<string>();
  const absences = new Map<string, Absence>();

  /**
   * An absence seen long ago says nothing about now, except for a chunk that was left before and is
   * back.
   */
  function absenceOf(chunk: string, api: string): Absence {
    const atMs = nowMs();
    const known = absences.get(api) ?? { sinceMs: atMs, seenAtMs: atMs, left: new Set() };
    const isStale = atMs - known.seenAtMs > PATIENCE_MS && !known.left.has(chunk);
    const absence = { ...known, sinceMs: isStale ? atMs : known.sinceMs, seenAtMs: atMs };
    absences.set(api, absence);
    return absence;
  }

  return {
    mayRefuse: async (chunk, api) => {
      if (await isServed(api)) absences.delete(api);
      else {
        const { sinceMs, seenAtMs, left } = absenceOf(chunk, api);
        if (seenAtMs - sinceMs >= PATIENCE_MS) return true;
        left.add(chunk);
      }
      if (!told.has(api)) onLeft(api);
      told.add(api);
      return false;
    },
  };
}

/** No worker was seen for an API. */
interface Absence {
  readonly sinceMs: number;
  /** When the absence was last seen. */
  readonly seenAtMs: number;
  /** Chunks that were left for a worker that may come. */
  readonly left: Set<string>;
}
