/** Knows what a worker has to do with chunks that mean another API than its own. */
export interface OtherApis {
  /**
   * Whether such a chunk is refused. While a worker is there that asks this API, and for some seconds
   * after, in which one may be restarted, it is left to others.
   */
  mayRefuse(chunk: string, api: string): Promise<boolean>;
}

export interface OtherApisOptions {
  /** Whether some worker asks an API. */
  readonly isServed: (api: string) => Promise<boolean>;
  /** Told once of each API that chunks are left to others for. */
  readonly onLeft: (api: string) => void;
  /** Milliseconds by a clock that nobody sets. @default performance.now */
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

  /** What was seen long ago says nothing of now, but for a chunk that was left already and is back. */
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

/** Nobody was seen who asks an API. */
interface Absence {
  readonly sinceMs: number;
  /** When that was seen last. */
  readonly seenAtMs: number;
  /** Chunks that were left to whoever might come. */
  readonly left: Set<string>;
}
