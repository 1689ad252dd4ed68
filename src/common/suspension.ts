let held = 0;
let suspend: (() => void) | undefined;

/**
 * Begins work during which the process should not be stopped with Ctrl-Z, because other processes
 * would wait for it. Returns a function that ends it.
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

/**
 * Stops this process with `stop` once no other process would have to wait: at once, or very soon.
 */
export function suspendWhenFree(stop: () => void): void {
  if (held === 0) stop();
  else suspend = stop;
}
