import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these programs that is in the PATH, or at one of the other places. */
export function findProgram(
  names: readonly string[],
  elsewhere: readonly string[] = [],
): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const inPath = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return [...inPath, ...elsewhere].find((path) => existsSync(path));
}
