import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { type Folder, openFolder } from './folder.ts';

/** Mounts a small disk in memory; undefined where this process may not. */
export function openSmallDisk(sizeBytes: number): Folder | undefined {
  const folder = openFolder();
  return mountSmallDisk(folder, sizeBytes) ? folder : undefined;
}

/** Mounts a small disk in memory at a folder; returns whether this process may. */
export function mountSmallDisk(folder: Folder, sizeBytes: number): boolean {
  try {
    const args = ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', folder.path];
    execFileSync('mount', args, { stdio: 'ignore' });
  } catch {
    return false;
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder.path]);
  });
  return true;
}
