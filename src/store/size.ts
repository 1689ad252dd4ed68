import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE } from './store-files.ts';

const BLOCK_BYTES = 512;

/** How much disk space the store in a folder takes, in bytes; 0 when there is no store. */
export function sizeOnDisk(folder: string): number {
  const stats = statSync(join(folder, DATABASE), { throwIfNoEntry: false });
  // Windows reports no blocks.
  return stats ? stats.blocks * BLOCK_BYTES || stats.size : 0;
}
