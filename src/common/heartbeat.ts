/** Work that is repeated until it is closed, such as a sign of life. */
export interface Heartbeat {
  /** Resolves when the first beat is done or has failed. */
  readonly first: Promise<void>;
  readonly close: () => void;
}

/**
 * Repeats work at an interval, beginning now. A beat waits for the one before it: while Redis is
 * away, commands wait for it in memory, and would be more with every beat.
 *
 * @param onFailed called with why a beat failed; the next one tries again. @default not told
 */
export function startHeartbeat(
  everyMs: number,
  beat: () => Promise<unknown>,
  onFailed: (error: unknown) => void = () => {},
): Heartbeat {
  let isBeating = false;

  async function tryBeat(): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      await beat();
    } catch (error) {
      onFailed(error);
    } finally {
      isBeating = false;
    }
  }

  const first = tryBeat();
  const timer = setInterval(() => void tryBeat(), everyMs);
  return { first, close: () => clearInterval(timer) };
}
