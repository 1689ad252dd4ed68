/** What is still there when a second Ctrl-C ends the process here and now. One listener for all. */
const left = new Set<() => void>();

/** Has something removed should the process end before `keepAtExit`. */
export function removeAtExit(remove: () => void): void {
  if (left.size === 0) process.on('exit', removeLeft);
  left.add(remove);
}

/** @param remove what was given to `removeAtExit` */
export function keepAtExit(remove: () => void): void {
  left.delete(remove);
  if (left.size === 0) process.off('exit', removeLeft);
}

function removeLeft(): void {
  for (const remove of left) remove();
}
