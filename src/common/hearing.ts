/** Whoever is told how it goes by callbacks, which may throw. */
export interface Hearing {
  /** Fires when one of the signals does, or a callback has failed. */
  readonly signal: AbortSignal;
  /** The same callback, which no longer throws; once one has failed, none is called any more. */
  guard<A extends readonly unknown[]>(callback: (...told: A) => unknown): (...told: A) => void;
  /**
   * To be called when all is over.
   *
   * @throws what a callback threw first, or its promise was rejected with
   */
  assertHeard(): void;
}

/**
 * Makes callbacks of a program harmless: one that throws ends the work in order. Much is told by
 * timers, where an error of its own would end the whole process.
 *
 * @param stops signals of the caller that end the work
 */
export function createHearing(stops: readonly (AbortSignal | undefined)[]): Hearing {
  const deaf = new AbortController();
  const fail = (error: unknown): void => deaf.abort(error);
  return {
    signal: AbortSignal.any([...stops.filter((stop) => stop !== undefined), deaf.signal]),
    guard:
      (callback) =>
      (...told) => {
        if (deaf.signal.aborted) return;
        try {
          const answer = callback(...told);
          if (answer instanceof Promise) answer.catch(fail);
        } catch (error) {
          fail(error);
        }
      },
    assertHeard: () => deaf.signal.throwIfAborted(),
  };
}
