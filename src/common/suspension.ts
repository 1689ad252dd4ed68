let held = 0;
let suspend: (() => void) | undefined;

/**
 * Begins something during which the process had better not be stopped with Ctrl-Z, since others would
 * wait for it. What is returned ends it.
 */
export function holdSuspension(): () => void {
  held += 1;
  return () => {
    held -= 1;
    if (held > 0) return;
    suspend?.();
    suspend = undefined;
  };
}

/** Does what stops this process as soon as nobody has to wait for it meanwhile: at once, or very soon. */
export function suspendWhenFree(stop: () => void): void {
  if (held === 0) stop();
  else suspend = stop;
}
