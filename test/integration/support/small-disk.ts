import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { type Folder, openFolder } from './folder.ts';

/** Mounts a small disk in memory; undefined where this process may not. */
export function openSmallDisk(sizeBytes: number): Folder | undefined {
  const folder = openFolder();
  try {
    const args = ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', folder.path];
    execFileSync('mount', args, { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder.path]);
  });
  return folder;
}
