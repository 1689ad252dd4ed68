import { existsSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = process.env['BRANDFILL_TEST_MATERIAL'];

/**
 * The path of a list from outside of the project, which tests use where it is at hand. Says what is
 * left out where it is not.
 */
export function findMaterial(...path: readonly string[]): string | undefined {
  if (FOLDER === undefined) {
    console.log(`Left out: ${path.join('/')}, because BRANDFILL_TEST_MATERIAL is not set.`);
    return undefined;
  }
  const found = join(FOLDER, ...path);
  if (existsSync(found)) return found;
  console.log(`Left out: ${found} is not there.`);
  return undefined;
}
