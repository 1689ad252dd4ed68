/**
 * Makes the time of a run, in milliseconds since 1970. It is the machine's time, but it stands
 * still while a clock that was set back catches up. So nothing that the run dates lies in its
 * future.
 */
export function createRunTime(systemTime: () => number = Date.now): () => number {
  let latestMs = Number.NEGATIVE_INFINITY;
  return () => {
    latestMs = Math.max(latestMs, systemTime());
    return latestMs;
  };
}
