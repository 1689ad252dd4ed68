import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { makeFolder, PRIVATE, PRIVATE_FOLDER } from '../common/files.ts';
import { unlessAborted } from '../common/lifetime.ts';

/**
 * Opens a file without a name: it disappears with its handle, however the process ends. If the
 * system does not allow that (Windows), the file stays in the folder.
 *
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be written.
 */
export async function openSpool(folder: string): Promise<FileHandle> {
  try {
    makeFolder(folder, PRIVATE_FOLDER);
    const path = join(folder, `spool-${randomUUID()}`);
    const handle = await open(path, 'wx+', PRIVATE.mode);
    await rm(path).catch(() => {});
    return handle;
  } catch (error) {
    throw spoolError(folder, error);
  }
}

export interface SpoolOptions {
  /** The folder where the file is kept while it is needed. */
  readonly spoolFolder: string;
  /** Ends the wait for more input, with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Bytes are collected to this size: rows of a program come one by one, and each write takes a
 * while.
 */
const WRITE_BYTES = 64 * 1024;

/**
 * Writes all items into a file without a name and returns it, ready to be read.
 *
 * @param toBytes what an item is in the file; items count from 1
 * @throws the signal's reason when it fires, even while an item is waited for
 */
export async function spool<T>(
  items: AsyncIterable<T> | Iterable<T>,
  { spoolFolder, signal }: SpoolOptions,
  toBytes: (item: T, number: number) => Buffer | string = (item) => item as Buffer | string,
): Promise<FileHandle> {
  const handle = await openSpool(spoolFolder);
  const iterator =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();

  async function copy(): Promise<void> {
    let gathered: Buffer[] = [];
    let sizeBytes = 0;
    for (let number = 1; ; number += 1) {
      const next = await iterator.next();
      signal.throwIfAborted();
      if (next.done === true) break;
      const bytes = Buffer.from(toBytes(await next.value, number));
      gathered.push(bytes);
      sizeBytes += bytes.length;
      if (sizeBytes < WRITE_BYTES) continue;
      await writeAll(handle, Buffer.concat(gathered), spoolFolder);
      gathered = [];
      sizeBytes = 0;
    }
    await writeAll(handle, Buffer.concat(gathered), spoolFolder);
  }

  try {
    signal.throwIfAborted();
    await unlessAborted(copy(), signal); // once: for each item it takes longer than all the rest
    return handle;
  } catch (error) {
    // Not awaited: a waiting generator ends only when what it waits for has come.
    if (items instanceof Readable) items.destroy();
    else Promise.resolve(iterator.return?.()).catch(() => {});
    await handle.close();
    throw error;
  }
}

/** Writes all bytes behind those that were written before. */
export async function writeAll(handle: FileHandle, bytes: Buffer, folder: string): Promise<void> {
  try {
    await handle.writeFile(bytes);
  } catch (error) {
    throw spoolError(folder, error);
  }
}

function spoolError(folder: string, error: unknown): BrandfillError {
  // If a list is only read and counted, or put on a queue, there is no store.
  const advice =
    folder === tmpdir()
      ? 'name another folder in TMPDIR'
      : "choose another folder with option 'store'";
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to ${folder}: ${describeSystemError(error)}; ${advice}.`,
    { cause: error },
  );
}
