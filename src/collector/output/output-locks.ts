import { lockOutput, type OutputLock } from './output-lock.ts';
import { type OutputPaths, placeOf } from './output-paths.ts';

/** All files that a run writes. */
export interface LockedPaths extends OutputPaths {
  /**
   * The file with the last report of the changes, in an existing folder. Undefined without changes.
   */
  readonly manifest?: string | undefined;
}

/**
 * Takes all outputs of a run, or none. Every run takes them in the same order: by their places, and
 * the manifest last. So of two runs that want the same ones, one gets them.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` with the output and its holder, `UNWRITABLE_OUTPUT`
 */
export async function lockOutputs({
  out,
  failures,
  changes,
  manifest,
}: LockedPaths): Promise<OutputLock> {
  const taken: OutputLock[] = [];
  const release = (): void => {
    for (const lock of taken) lock.release();
  };
  try {
    const files = [out, failures, changes].filter((path) => path !== undefined);
    for (const path of await inOrder(files)) taken.push(await lockOutput(path));
    if (manifest !== undefined) {
      taken.push(await lockOutput(manifest, { advice: 'choose another --changes' }));
    }
  } catch (error) {
    release();
    throw error;
  }
  return {
    assertOurs: () => {
      for (const lock of taken) lock.assertOurs();
    },
    release,
  };
}

/** Sorts by real places, which are the same whatever links and folders a run uses. */
async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const placed = await Promise.all(
    paths.map(async (path) => ({ path, place: await placeOf(path) })),
  );
  placed.sort((one, other) => (one.place < other.place ? -1 : 1));
  return placed.map(({ path }) => path);
}
