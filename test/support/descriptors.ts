import { readdirSync, readlinkSync } from 'node:fs';

/** Where the system shows the open files of this process; undefined where it does not. */
const SHOWN = process.platform === 'linux' ? '/proc/self/fd' : undefined;

/** The files in a folder that this process has open, also those that are removed by now. */
export function openFilesIn(folder: string): string[] {
  if (SHOWN === undefined) return [];
  return readdirSync(SHOWN)
    .map((descriptor) => targetOf(`${SHOWN}/${descriptor}`))
    .filter((path) => path.startsWith(folder))
    .sort();
}

/** Empty for the descriptor that the folder itself was read with. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
