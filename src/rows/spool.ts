import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
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

export interface Spooled {
  readonly handle: FileHandle;
  /** Of all bytes. */
  readonly hash: string;
}

/** Writes all chunks into a file without a name and returns it, ready to be read. */
export async function spool(
  chunks: AsyncIterable<Buffer | string>,
  { spoolFolder, signal }: SpoolOptions,
): Promise<Spooled> {
  const handle = await openSpool(spoolFolder);
  const hash = createHash('sha256');
  let gathered: Buffer[] = [];
  let sizeBytes = 0;
  const flush = async (): Promise<void> => {
    await writeAll(handle, Buffer.concat(gathered), spoolFolder);
    gathered = [];
    sizeBytes = 0;
  };
  try {
    for await (const chunk of untilAborted(chunks, signal)) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      hash.update(bytes);
      gathered.push(bytes);
      sizeBytes += bytes.length;
      if (sizeBytes >= WRITE_BYTES) await flush();
    }
    await flush();
    return { handle, hash: hash.digest('base64url') };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Passes chunks on, even if the wait for them is long.
 *
 * @throws the signal's reason when it fires
 */
async function* untilAborted<T>(chunks: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  if (chunks instanceof Readable) addAbortSignal(signal, chunks);
  const iterator = chunks[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), signal);
      isDone = next.done === true;
      if (next.done === true) return;
      yield next.value;
      signal.throwIfAborted();
    }
  } finally {
    // Not awaited: a waiting generator ends only when what it waits for has come.
    if (!isDone) iterator.return?.().catch(() => {});
  }
}

/** Appends all bytes, with as many calls as that takes. */
export async function writeAll(handle: FileHandle, bytes: Buffer, folder: string): Promise<void> {
  try {
    for (let written = 0; written < bytes.length; ) {
      written += (await handle.write(bytes, written)).bytesWritten;
    }
  } catch (error) {
    throw spoolError(folder, error);
  }
}

/**
 * Reads a whole file from its start, whatever was read before, and leaves it open. A stream over
 * the handle would close it.
 */
export async function* readFromStart(
  handle: FileHandle,
  chunkBytes: number,
): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(chunkBytes),
      0,
      chunkBytes,
      position,
    );
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function spoolError(folder: string, error: unknown): BrandfillError {
  // If a list is only read and counted, or put on a queue, there is no store.
  const advice =
    folder === tmpdir() ? 'name another folder in TMPDIR' : 'choose another folder with --store';
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to ${folder}: ${describeSystemError(error)}; ${advice}.`,
    { cause: error },
  );
}
