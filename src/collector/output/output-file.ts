import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { BrandfillError, describeUnwritable } from '../../common/errors.ts';
import {
  type FileAccess,
  findLeftovers,
  followOwnLinks,
  modeWithin,
  newFileMode,
  syncFolder,
  temporaryPath,
} from '../../common/files.ts';
import { isStoreFile } from '../../store/store-files.ts';
import { placeOf } from './output-paths.ts';

/** A file for rows. Nothing is visible in its place before `commit`. */
export interface OutputFile {
  /**
   * @param content must not be changed afterwards: it may still be being written when this resolves
   */
  write(content: string | Uint8Array): Promise<void>;
  /** Flushes everything to the disk. Nothing after this can fail. */
  finish(): Promise<void>;
  /**
   * Puts the finished file in its place. A reader sees the old one or the new one, never a part.
   */
  commit(): Promise<void>;
  /** Leaves the place as it was. Must be called in any case; does nothing after `commit`. */
  discard(): Promise<void>;
  /**
   * Takes out what was written so far, to be read, and begins anew. Missing where what was written is
   * gone, or is packed.
   *
   * @returns it, to be closed by the caller
   */
  readonly beginAnew?: (() => Promise<FileHandle>) | undefined;
  /** Reads from what was written so far; missing where `beginAnew` is. */
  readonly readBack?: ((at: number, sizeBytes: number) => Promise<Buffer>) | undefined;
}

/**
 * Opens an output: a temporary file beside its place, or the existing device or pipe there. A file
 * whose name ends in `.gz` is compressed.
 *
 * @param from the files that it is made from: it is never more open than they are
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when that cannot be written, `INVALID_SETTING` when it is
 * part of a store.
 */
export async function openOutputFile(
  path: string,
  from: readonly FileAccess[] = [],
): Promise<OutputFile> {
  const target = await placeToWrite(path);
  if (isStoreFile(target)) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot write ${path}: that is the name of a store's database; choose another output.`,
    );
  }
  return await refused(path, async () => {
    const before = await stat(target).catch(() => undefined);
    if (before?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    if (before && !before.isFile()) return openDevice(path, target);
    await removeLeftovers(target);
    const temporary = temporaryBeside(target);
    const handle = await open(temporary, 'wx+', newFileMode(from));
    const file = createOutputFile(path, { target, temporary, handle });
    try {
      const made = await handle.stat();
      const mode = modeWithin({ mode: (before ?? made).mode, gid: made.gid }, from);
      if (mode !== (made.mode & 0o777)) await handle.chmod(mode);
    } catch (error) {
      await file.discard();
      throw error;
    }
    return file;
  });
}

/** Writes to an existing stream, such as standard output. */
export function createOutputStream(path: string, stream: Writable): OutputFile {
  const trouble = troubleOf(stream);
  return {
    write: (content) =>
      refused(path, async () => {
        if (trouble.first) throw trouble.first;
        if (!stream.write(content)) await once(stream, 'drain');
      }),
    finish: () =>
      refused(path, async () => {
        // A file reports an error only once it is closed. The callback of the last write gets it
        // earlier.
        const last = await new Promise<Error | null | undefined>((resolve) => {
          stream.write('', resolve);
        });
        const error = trouble.first ?? last;
        if (error) throw error;
      }),
    commit: async () => {},
    discard: async () => {},
  };
}

interface Trouble {
  first?: Error;
}

/** In a schedule, several runs share standard output, so each stream has one listener. */
const troubles = new WeakMap<Writable, Trouble>();

function troubleOf(stream: Writable): Trouble {
  const known = troubles.get(stream);
  if (known) return known;
  const trouble: Trouble = {};
  troubles.set(stream, trouble);
  stream.on('error', (error) => {
    trouble.first ??= error;
  });
  return trouble;
}

interface Place {
  readonly target: string;
  readonly temporary: string;
  readonly handle: FileHandle;
}

/** Files that this process could not remove when they were discarded. Its next run tries again. */
const abandoned = new Set<string>();

function createOutputFile(path: string, { target, ...place }: Place): OutputFile {
  let { temporary, handle } = place;
  const isPacked = target.endsWith('.gz');
  let sink = isPacked ? compressInto(handle) : writeInto(handle);
  const removeTemporary = (): void => {
    try {
      rmSync(temporary, { force: true });
    } catch {
      abandoned.add(temporary); // its folder has become read-only
    }
  };
  const beginAnew = async (): Promise<FileHandle> => {
    await sink.end();
    const aside = handle;
    const { mode } = await aside.stat();
    const fresh = temporaryBeside(target);
    handle = await open(fresh, 'wx+', mode & 0o777);
    removeTemporary();
    temporary = fresh;
    if ((await handle.stat()).mode !== mode) await handle.chmod(mode & 0o777);
    sink = writeInto(handle);
    return aside;
  };
  removeAtExit(removeTemporary);
  let isDone = false;
  return {
    write: (content) => refused(path, () => sink.write(content)),
    finish: () =>
      refused(path, async () => {
        await sink.end();
        await handle.sync();
        await handle.close();
      }),
    commit: () =>
      refused(path, async () => {
        await rename(temporary, target);
        isDone = true;
        keepAtExit(removeTemporary);
        await syncFolder(dirname(target));
      }),
    discard: async () => {
      if (isDone) return;
      isDone = true;
      await sink.abandon();
      await handle.close().catch(() => {});
      removeTemporary();
      keepAtExit(removeTemporary);
    },
    beginAnew: isPacked ? undefined : () => refused(path, beginAnew),
    readBack: async (at, sizeBytes) => {
      await sink.end();
      return await readAt(handle, at, sizeBytes);
    },
  };
}

/** Reads bytes that are there. */
export async function readAt(handle: FileHandle, at: number, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  for (let done = 0; done < sizeBytes; ) {
    const { bytesRead } = await handle.read(bytes, done, sizeBytes - done, at + done);
    if (bytesRead === 0) throw new TypeError('fewer bytes were written');
    done += bytesRead;
  }
  return bytes;
}

/** Writes text to a file. */
interface Sink {
  write(content: string | Uint8Array): Promise<void>;
  /** Waits until everything is written. A plain file may be written on. */
  end(): Promise<void>;
  abandon(): Promise<void>;
}

/** Less than this is gathered: rows come in batches of some two hundred, and each write takes a while. */
const BLOCK_BYTES = 256 * 1024;
const MOST_BYTES_OF_UNIT = 3;

/** Writes while the next rows are made. An error shows at a later write, or at the end. */
function writeInto(handle: FileHandle): Sink {
  let block = Buffer.allocUnsafe(BLOCK_BYTES);
  let other = Buffer.allocUnsafe(BLOCK_BYTES);
  let gathered = 0;
  let writing: Promise<void> = Promise.resolve();

  async function send(content: string | Uint8Array): Promise<void> {
    await writing;
    writing = handle.writeFile(content); // appends: a handle writes at its position
    writing.catch(() => {}); // seen by the next write, or at the end
  }

  async function flush(): Promise<void> {
    if (gathered === 0) return;
    await send(block.subarray(0, gathered));
    [block, other] = [other, block];
    gathered = 0;
  }

  return {
    write: async (content) => {
      const isText = typeof content === 'string';
      const mostBytes = content.length * (isText ? MOST_BYTES_OF_UNIT : 1);
      if (mostBytes > BLOCK_BYTES - gathered) await flush();
      if (mostBytes > BLOCK_BYTES) await send(content);
      else if (isText) gathered += block.write(content, gathered);
      else {
        block.set(content, gathered);
        gathered += content.length;
      }
    },
    end: async () => {
      await flush();
      await writing;
    },
    abandon: async () => {
      await writing.catch(() => {});
    },
  };
}

function compressInto(handle: FileHandle): Sink {
  const gzip = createGzip();
  const written = (async () => {
    for await (const chunk of gzip) await handle.writeFile(chunk as Buffer);
  })();
  written.catch((error: unknown) => gzip.destroy(error as Error)); // seen by the next write
  return {
    write: async (content) => {
      if (!gzip.write(content)) await Promise.race([once(gzip, 'drain'), written]);
    },
    end: async () => {
      gzip.end();
      await written;
    },
    abandon: async () => {
      gzip.destroy();
      await written.catch(() => {});
    },
  };
}

function openDevice(path: string, target: string): OutputFile {
  const stream = createWriteStream(target);
  const output = createOutputStream(path, stream);
  return {
    ...output,
    finish: async () => {
      await output.finish();
      stream.end();
    },
    discard: async () => {
      stream.destroy();
    },
  };
}

/**
 * The place of an output. A link stays a link, even one to a missing file.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when another user may have planted it
 */
export async function placeToWrite(path: string): Promise<string> {
  return await refused(path, () => (process.geteuid ? followOwnLinks(path) : placeOf(path)));
}

/** A unique path beside a place. When its process is gone, the next writer removes the file. */
export function temporaryBeside(target: string): string {
  return temporaryPath(stemBeside(target));
}

/** Removes files beside a place: those of killed runs, and abandoned ones of this process. */
async function removeLeftovers(target: string): Promise<void> {
  const stem = stemBeside(target);
  const own = [...abandoned].filter((path) => path.startsWith(stem));
  for (const path of [...own, ...(await findLeftovers(stem))]) await rm(path, { force: true });
}

function stemBeside(target: string): string {
  return `${target}.`;
}

/**
 * Does work that writes to a path.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` with the reason
 */
export async function refused<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write ${path}: ${describeUnwritable(path, error)}.`,
      { cause: error },
    );
  }
}

/**
 * Removals that are still due when a second Ctrl-C ends the process at once. They share one
 * listener.
 */
const left = new Set<() => void>();

/** Registers a removal in case the process ends before `keepAtExit`. */
export function removeAtExit(remove: () => void): void {
  if (left.size === 0) process.on('exit', removeLeft);
  left.add(remove);
}

/** @param remove the function that was passed to `removeAtExit` */
export function keepAtExit(remove: () => void): void {
  left.delete(remove);
  if (left.size === 0) process.off('exit', removeLeft);
}

function removeLeft(): void {
  for (const remove of left) remove();
}
