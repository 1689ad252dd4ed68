import { lockOutput, type OutputLock } from './output-lock.ts';
import { type OutputPaths, placeOf } from './output-paths.ts';

/** All places that a run puts something in. */
export interface LockedPaths extends OutputPaths {
  /** Keeps what was told in the changes file; its folder is there. Undefined without changes. */
  readonly manifest?: string | undefined;
}

/**
 * Takes all outputs of a run, or none. Every run takes them in the same order, by where they are and
 * the manifest last: of two that want the same ones, one gets them.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` that says which one and who has it, `UNWRITABLE_OUTPUT`
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

/** By their real places, which are the same whatever links and folders a run calls them by. */
async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const placed = await Promise.all(
    paths.map(async (path) => ({ path, place: await placeOf(path) })),
  );
  placed.sort((one, other) => (one.place < other.place ? -1 : 1));
  return placed.map(({ path }) => path);
}
