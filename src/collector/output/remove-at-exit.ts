/**
 * Removals that are still due when a second Ctrl-C ends the process at once. They share one
 * listener.
 */
const left = new Set<() => void>();

/** Registers a removal in case the process ends before `keepAtExit`. */
export function removeAtExit(remove: () => void): void {
  if (left.size === 0) process.on('exit', removeLeft);
  left.add(remove);
}

/** @param remove the function that was passed to `removeAtExit` */
export function keepAtExit(remove: () => void): void {
  left.delete(remove);
  if (left.size === 0) process.off('exit', removeLeft);
}

function removeLeft(): void {
  for (const remove of left) remove();
}
