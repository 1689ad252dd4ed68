/** Guards callbacks of a program, which may throw. */
export interface CallbackGuard {
  /** Fires when one of the signals does, or when a callback has failed. */
  readonly signal: AbortSignal;
  /**
   * Wraps a callback so that it does not throw. Once one has failed, no callback is called any
   * more.
   */
  guard<A extends readonly unknown[]>(callback: (...told: A) => unknown): (...told: A) => void;
  /**
   * Must be called at the end.
   *
   * @throws the first error that a callback threw, or with which its promise was rejected
   */
  throwIfFailed(): void;
}

/**
 * Makes callbacks of a program harmless. One that throws ends the work in order. Many callbacks are
 * called by timers, where an error would end the whole process.
 *
 * @param stops the caller's signals that end the work
 */
export function createCallbackGuard(stops: readonly (AbortSignal | undefined)[]): CallbackGuard {
  const failed = new AbortController();
  const fail = (error: unknown): void => failed.abort(error);
  return {
    signal: AbortSignal.any([...stops.filter((stop) => stop !== undefined), failed.signal]),
    guard:
      (callback) =>
      (...told) => {
        if (failed.signal.aborted) return;
        try {
          const answer = callback(...told);
          if (answer instanceof Promise) answer.catch(fail);
        } catch (error) {
          fail(error);
        }
      },
    throwIfFailed: () => failed.signal.throwIfAborted(),
  };
}
