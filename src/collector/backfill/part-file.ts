import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../common/sync-folder.ts';
import { fileName, type PartKind, type PartState } from './rotation.ts';

/** A file that is being written: `<name>.part`. */
export interface PartFile {
  /** How much of the file counts. */
  readonly state: PartState;
  /** Writes after the part that counts, and flushes to the disk. */
  append(text: Buffer): Promise<void>;
  /** Makes more of the file count. */
  advance(state: PartState): void;
  /**
   * Gives the file its final name. Resolves to the path, or to undefined for a file without a line.
   */
  finish(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The first file that does not exist, from the given number on. */
export async function findFree(
  folder: string,
  kind: PartKind,
  { hour, number: from }: Pick<PartState, 'hour' | 'number'>,
): Promise<PartState> {
  for (let number = from; ; number += 1) {
    const path = join(folder, fileName(kind, { hour, number }));
    if ((await isThere(path)) || (await isThere(`${path}.part`))) continue;
    return { hour, number, bytes: 0, lines: 0, isOpen: true };
  }
}

/** Creates a file. */
export async function createPart(
  folder: string,
  kind: PartKind,
  state: PartState,
): Promise<PartFile> {
  const handle = await open(`${join(folder, fileName(kind, state))}.part`, 'wx+');
  try {
    await syncFolder(folder);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return createPartFile(folder, { kind, state, handle });
}

/**
 * Opens a file again and cuts off what does not count: lines of an incomplete write. Undefined when
 * the file does not exist, because it was finished.
 */
export async function reopenPart(
  folder: string,
  kind: PartKind,
  state: PartState,
): Promise<PartFile | undefined> {
  const path = `${join(folder, fileName(kind, state))}.part`;
  if (!(await isThere(path))) return undefined;
  const handle = await open(path, 'r+');
  try {
    const { size } = await handle.stat();
    if (size > state.bytes) {
      await handle.truncate(state.bytes);
      await handle.sync();
    }
    // The file is shorter than it was, because another program cut it. The rest counts.
    const bytes = Math.min(size, state.bytes);
    return createPartFile(folder, { kind, state: { ...state, bytes }, handle });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface OpenPart {
  readonly kind: PartKind;
  readonly state: PartState;
  readonly handle: FileHandle;
}

function createPartFile(folder: string, { kind, state: first, handle }: OpenPart): PartFile {
  let state = first;
  return {
    get state() {
      return state;
    },
    append: async (text) => {
      for (let written = 0; written < text.length; ) {
        const rest = text.length - written;
        const { bytesWritten } = await handle.write(text, written, rest, state.bytes + written);
        written += bytesWritten;
      }
      await handle.sync();
    },
    advance: (next) => {
      state = next;
    },
    finish: async () => {
      const path = join(folder, fileName(kind, state));
      const place = state.bytes === 0 ? undefined : await freePath(folder, kind, state);
      if (place === undefined) await rm(`${path}.part`, { force: true });
      else await rename(`${path}.part`, place);
      await syncFolder(folder);
      await handle.close().catch(() => {});
      return place;
    },
    close: () => handle.close(),
  };
}

/** Its own name, or the next free one if another program has put a file there meanwhile. */
async function freePath(folder: string, kind: PartKind, state: PartState): Promise<string> {
  for (let { number } = state; ; number += 1) {
    const path = join(folder, fileName(kind, { hour: state.hour, number }));
    const isNext = number > state.number && (await isThere(`${path}.part`));
    if (!isNext && !(await isThere(path))) return path;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}
