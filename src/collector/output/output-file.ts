import { once } from 'node:events';
import { constants, rmSync, type Stats } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { isatty } from 'node:tty';
import { createGzip } from 'node:zlib';
import { BrandfillError, describeUnwritable, refusal } from '../../common/errors.ts';
import {
  type FileAccess,
  followOwnLinks,
  modeWithin,
  newFileMode,
  syncFolder,
  temporaryPath,
} from '../../common/files.ts';
import { createPrintable } from '../../common/text.ts';
import { isStoreFile } from '../../store/store-files.ts';

/** A file for rows. Nothing is visible in its place before `commit`. */
export interface OutputFile {
  /**
   * The file that it is written to until then, which a kill leaves behind; undefined for a device
   * or a pipe.
   */
  readonly part?: string | undefined;
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
}

/**
 * Opens an output: a temporary file beside its place, or the existing device or pipe there. That
 * the file can be made is tried now; it is made when the first rows come. One whose name ends in
 * `.gz` is compressed.
 *
 * @param from the files that it is made from: it is never more open than they are
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when that cannot be written, `INVALID_SETTING` when it
 *   is part of a store.
 */
export async function openOutputFile(
  path: string,
  from: readonly FileAccess[] = [],
): Promise<OutputFile> {
  // A link stays a link, even one to a missing file.
  const target = await orUnwritable(path, () => followOwnLinks(path));
  if (isStoreFile(target)) {
    throw refusal(
      `Cannot write ${path}: that is the name of a store's database; choose another output.`,
    );
  }
  return await orUnwritable(path, async () => {
    const before = await stat(target).catch(() => undefined);
    if (before?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    if (before && !before.isFile()) return await openDevice(path, target, before);
    const temporary = temporaryPath(`${target}.`);
    const make = async (): Promise<OutputFile> => {
      const handle = await open(temporary, 'wx', newFileMode(from));
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
    };
    await (await make()).discard();
    return onceWritten(temporary, () => orUnwritable(path, make));
  });
}

/** An output that is made when it is first used. */
function onceWritten(part: string, make: () => Promise<OutputFile>): OutputFile {
  let made: Promise<OutputFile> | undefined;
  const file = (): Promise<OutputFile> => {
    made ??= make();
    return made;
  };
  return {
    part,
    write: async (content) => await (await file()).write(content),
    finish: async () => await (await file()).finish(),
    commit: async () => await (await file()).commit(),
    discard: async () => await (await made?.catch(() => undefined))?.discard(),
  };
}

/**
 * Writes to an existing stream, such as standard output.
 *
 * @param isTerminal whether what an API wrote could move its cursor. @default what the stream says
 */
export function createOutputStream(
  path: string,
  stream: Writable & { readonly isTTY?: boolean },
  isTerminal = stream.isTTY === true,
): OutputFile {
  const trouble = troubleOf(stream);
  const shown = isTerminal ? createPrintable() : undefined;
  return {
    write: (content) =>
      orUnwritable(path, async () => {
        const error = trouble.first ?? stream.errored;
        if (error) throw error;
        if (!stream.write(shown ? shown(content) : content)) await once(stream, 'drain');
      }),
    finish: () =>
      orUnwritable(path, async () => {
        // A file reports an error only once it is closed. The callback of the last write gets it
        // earlier.
        const last = await new Promise<Error | null | undefined>((resolve) => {
          stream.write('', resolve);
        });
        // A stream that is destroyed knows why before it says so.
        const error = trouble.first ?? stream.errored ?? last;
        if (error) throw error;
      }),
    commit: async () => {},
    discard: async () => {},
  };
}

/** In a schedule, several runs share standard output, so each stream has one listener. */
const troubles = new WeakMap<Writable, { first?: Error }>();

function troubleOf(stream: Writable) {
  const known = troubles.get(stream);
  if (known) return known;
  const trouble: { first?: Error } = {};
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

/** So much is written on while the next rows are made. */
const HELD_BYTES = 512 * 1024;

function createOutputFile(path: string, { target, temporary, handle }: Place): OutputFile {
  const sink = handle.createWriteStream({ highWaterMark: HELD_BYTES });
  const gzip = /\.gz$/i.test(target) ? createGzip() : undefined;
  const output = createOutputStream(path, gzip ?? sink);
  const written = gzip ? pipeline(gzip, sink) : finished(sink);
  written.catch(() => {}); // seen by the next write, or at the end
  const removeTemporary = (): void => {
    try {
      rmSync(temporary, { force: true });
    } catch {} // its folder has become read-only
  };
  removeAtExit(removeTemporary);
  let isDone = false;
  return {
    write: (content) => output.write(content),
    finish: async () => {
      await output.finish();
      await orUnwritable(path, async () => {
        (gzip ?? sink).end();
        await written; // and closed
        const whole = await open(temporary, 'r+');
        try {
          await whole.sync();
        } finally {
          await whole.close();
        }
      });
    },
    commit: () =>
      orUnwritable(path, async () => {
        await rename(temporary, target);
        isDone = true;
        keepAtExit(removeTemporary);
        await syncFolder(dirname(target));
      }),
    discard: async () => {
      if (isDone) return;
      isDone = true;
      gzip?.destroy();
      sink.destroy();
      if (!sink.closed) await new Promise<void>((resolve) => sink.once('close', () => resolve()));
      removeTemporary();
      keepAtExit(removeTemporary);
    },
  };
}

/** Opened without waiting for whoever reads a pipe. A disk is no output. */
async function openDevice(path: string, target: string, found: Stats): Promise<OutputFile> {
  if (!found.isFIFO() && !found.isCharacterDevice()) throw new Error('it is no file');
  const tried = await open(target, constants.O_WRONLY | constants.O_NONBLOCK);
  const device = await open(target, 'w');
  await tried.close(); // not before: a reader would take it for the end
  const stream = device.createWriteStream();
  const output = createOutputStream(path, stream, isatty(device.fd));
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
 * Does work that writes to a path.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` with the reason
 */
async function orUnwritable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BrandfillError) throw error;
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
function removeAtExit(remove: () => void): void {
  if (left.size === 0) process.on('exit', removeLeft);
  left.add(remove);
}

/** @param remove the function that was passed to `removeAtExit` */
function keepAtExit(remove: () => void): void {
  left.delete(remove);
  if (left.size === 0) process.off('exit', removeLeft);
}

function removeLeft(): void {
  for (const remove of left) remove();
}
