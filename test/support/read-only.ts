import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/**
 * Makes a folder read-only, so that nothing can be made or removed in it.
 *
 * @returns what makes it as before; undefined where this process may not make it so
 */
export function makeReadOnly(folder: string): (() => void) | undefined {
  const isRoot = process.getuid?.() === 0; // who may write anywhere but into what is immutable
  const set = (isReadOnly: boolean): void => {
    if (!isRoot) return chmodSync(folder, isReadOnly ? 0o555 : 0o755);
    execFileSync('chattr', [isReadOnly ? '+i' : '-i', folder], { stdio: 'ignore' });
  };
  try {
    set(true);
  } catch {
    return undefined;
  }
  onTestFinished(() => set(false));
  return () => set(false);
}
