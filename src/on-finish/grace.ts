/** The time that remains when a run is interrupted. */
export interface Grace {
  /** Fires when it is up. */
  readonly over: AbortSignal;
  close(): void;
}

/**
 * Grants time to finish, counted from an interruption, which may have come before.
 *
 * @param onInterrupted called when it comes later
 */
export function openGrace(
  interruption: AbortSignal,
  graceMs: number,
  onInterrupted: () => void,
): Grace {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => controller.abort(), graceMs);
  };
  const interrupted = (): void => {
    start();
    onInterrupted();
  };
  if (interruption.aborted) start();
  else interruption.addEventListener('abort', interrupted, { once: true });
  return {
    over: controller.signal,
    close: () => {
      clearTimeout(timer);
      interruption.removeEventListener('abort', interrupted);
    },
  };
}
