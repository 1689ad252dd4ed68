import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE } from './store-files.ts';

const BLOCK_BYTES = 512;

/** How much room the store in a folder takes on the disk, in bytes; 0 when there is none. */
export function sizeOnDisk(folder: string): number {
  const stats = statSync(join(folder, DATABASE), { throwIfNoEntry: false });
  // Windows tells no blocks.
  return stats ? stats.blocks * BLOCK_BYTES || stats.size : 0;
}
