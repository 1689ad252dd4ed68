import { once } from 'node:events';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { BrandfillError } from '../common/errors.ts';
import { describeUnwritable } from '../common/unwritable.ts';

/** Where lines go: standard output, or a file that appears under its name when it is complete. */
export interface TextOutput {
  write(text: string): Promise<void>;
  /** Gives the file its name. */
  finish(): Promise<void>;
  /** Leaves nothing behind of what was not finished. */
  close(): Promise<void>;
}

/**
 * @param path undefined or `-` for standard output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as all functions of it
 */
export async function openTextOutput(path: string | undefined): Promise<TextOutput> {
  if (path === undefined || path === '-') return STANDARD_OUTPUT;
  const unfinished = `${path}.part`;
  let handle: FileHandle | undefined = await orRefuse(path, open(unfinished, 'w'));

  async function end(): Promise<void> {
    await handle?.close();
    handle = undefined;
  }

  return {
    write: async (text) => {
      await orRefuse(path, handle?.appendFile(text));
    },
    finish: async () => {
      await orRefuse(path, handle?.sync());
      await end();
      await orRefuse(path, rename(unfinished, path));
    },
    close: async () => {
      const isUnfinished = handle !== undefined;
      await end();
      if (isUnfinished) await rm(unfinished, { force: true });
    },
  };
}

const STANDARD_OUTPUT: TextOutput = {
  write: async (text) => {
    const { stdout } = process;
    // Whoever has read enough closes it, and then there is nothing to wait for.
    if (stdout.destroyed || stdout.write(text)) return;
    await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {});
  },
  finish: async () => {},
  close: async () => {},
};

async function orRefuse<T>(path: string, work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write to ${path}: ${describeUnwritable(path, error)}.`,
      { cause: error },
    );
  }
}
