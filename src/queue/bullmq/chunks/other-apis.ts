/** Knows what a worker has to do with chunks that mean another API than its own. */
export interface OtherApis {
  /**
   * Whether such a chunk is refused. While a worker is there that asks this API, and for some seconds
   * after, in which one may be restarted, it is left to others.
   */
  mayRefuse(api: string): Promise<boolean>;
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
  /** Since when nobody was seen who asks an API. */
  const unservedSinceMs = new Map<string, number>();
  return {
    mayRefuse: async (api) => {
      if (await isServed(api)) unservedSinceMs.delete(api);
      else if (!unservedSinceMs.has(api)) unservedSinceMs.set(api, nowMs());
      const sinceMs = unservedSinceMs.get(api);
      if (sinceMs !== undefined && nowMs() - sinceMs >= PATIENCE_MS) return true;
      if (!told.has(api)) onLeft(api);
      told.add(api);
      return false;
    },
  };
}
