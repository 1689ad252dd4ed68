import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

interface Manifest {
  readonly bin: { readonly brandfill: string };
}

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Finds the built command of a clone. The command is not run from its sources, because their
 * translation would be measured too.
 *
 * @param folder the clone; this one unless another is to be measured
 * @throws Error when it was not built, or not since its sources changed
 */
export async function findProgram(folder = ROOT): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
  const program = join(folder, manifest.bin.brandfill);
  const hint = `run npm run build in ${folder} first`;
  if (!existsSync(program)) throw new Error(`Cannot measure: there is no ${program}; ${hint}`);
  const built = await stat(program);
  if ((await newestMs(join(folder, 'src'))) > built.mtimeMs) {
    throw new Error(`Cannot measure: the sources are newer than ${program}; ${hint}`);
  }
  return program;
}

async function newestMs(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const stats = await Promise.all(names.map((name) => stat(join(folder, name))));
  return Math.max(...stats.filter((found) => found.isFile()).map((found) => found.mtimeMs));
}
