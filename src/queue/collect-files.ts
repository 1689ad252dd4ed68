import { randomUUID } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { makeFolder, syncFolder } from '../common/files.ts';
import { createMutex } from '../common/lifetime.ts';
import { isOwnFile } from '../store/home.ts';
import { describeHolder, type Ownership, own } from '../store/owner.ts';

/** The two kinds of files that a collector writes. */
export type FileKind = 'enriched' | 'failures';

const KINDS: readonly FileKind[] = ['enriched', 'failures'];

/** Lines for each kind of file, whole ones. */
export type Lines = Readonly<Record<FileKind, string>>;

/** The file of a kind that is being written. */
interface FileState {
  /** Without `.part`, such as `enriched-2026-11-21T08-30-00-000Z.jsonl`. */
  readonly name: string;
  /** How many bytes of it count. What is behind them was being written at a kill. */
  readonly bytes: number;
}

/** What `.collect.json` has: replaced in one step when all of it is on the disk. */
interface State {
  /** A text of chance that tells this folder from others. */
  readonly id: string;
  readonly files: Readonly<Partial<Record<FileKind, FileState>>>;
  /** The last entry of each stream that is in the files. */
  readonly places: Readonly<Record<string, string>>;
}

export interface CollectFilesOptions {
  readonly folder: string;
  /** The name of the folder's option in messages. */
  readonly flag: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when another process writes to the folder, whose end is awaited. */
  readonly onNotice: (message: string) => void;
  /** Ends that wait. */
  readonly signal: AbortSignal;
}

/**
 * Files by the hour, in which each entry of a stream is exactly once. For one process at a time.
 */
export interface CollectFiles {
  /** Tells this folder from others. */
  readonly id: string;
  /** The last entry of a stream that is in the files. */
  placeIn(stream: string): string | undefined;
  /**
   * Appends lines. They count, and the places with them, when this resolves.
   *
   * @throws an error of the system. Nothing of it then counts, and it may be called again.
   */
  append(lines: Lines, places: ReadonlyMap<string, string>): Promise<void>;
  /** Finishes files whose hour is over, or all of them. */
  finish(isAll: boolean): Promise<void>;
  close(): Promise<void>;
}

const STATE_FILE = '.collect.json';
const PART = /^(enriched|failures)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.jsonl\.part$/;

/**
 * Each step may be the last before a kill:
 *
 *   append:  state with a new file, empty ──▶ lines ──▶ fsync
 *              ──▶ state with the new length and place (written beside, renamed)
 *   finish:  state without the file ──▶ `.part` renamed
 *   open:    the file of the state is cut to its length; other `.part` files are finished
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`; the signal's reason
 */
export async function openCollectFiles(options: CollectFilesOptions): Promise<CollectFiles> {
  const { folder, flag, now, onNotice, signal } = options;
  let owner: Ownership | undefined;
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
    owner = await own(folder, {
      waitMs: Number.POSITIVE_INFINITY,
      onHeld: (holder) =>
        onNotice(
          `Another collector writes to ${folder} (${describeHolder(holder)}): waiting for its end.`,
        ),
      signal,
    });
    return await openOwned(folder, now, owner);
  } catch (error) {
    await owner?.release();
    signal.throwIfAborted();
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write to the folder ${folder}: ${describeSystemError(error)}; put that right, or choose another folder with ${flag}.`,
      { cause: error },
    );
  }
}

async function openOwned(
  folder: string,
  now: () => number,
  owner: Ownership,
): Promise<CollectFiles> {
  let state = readState(folder);
  const handles = new Map<FileKind, FileHandle>();
  const inTurn = createMutex(); // one change at a time

  async function save(next: State): Promise<void> {
    const path = join(folder, STATE_FILE);
    await writeFile(`${path}.new`, JSON.stringify(next), { flush: true });
    await rename(`${path}.new`, path);
    await syncFolder(folder);
    state = next;
  }

  /** Opens the file of a kind, and takes away what does not count. */
  async function openFile(kind: FileKind, { name, bytes }: FileState): Promise<FileHandle> {
    const path = join(folder, `${name}.part`);
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    const handle = handles.get(kind) ?? (await open(path, flags));
    handles.set(kind, handle);
    if ((await handle.stat()).size >= bytes) {
      await handle.truncate(bytes);
      return handle;
    }
    throw new Error(
      `${path} is shorter than what was written to it: put it back, or remove it and ${STATE_FILE}`,
    );
  }

  async function finish(isAll: boolean): Promise<void> {
    const isOver = (kind: FileKind): boolean =>
      isAll || !state.files[kind]?.name.startsWith(`${kind}-${timeOf(now()).slice(0, 13)}`);
    const ending = KINDS.filter((kind) => state.files[kind] && isOver(kind));
    if (ending.length === 0) return;
    const files = { ...state.files };
    for (const kind of ending) {
      delete files[kind];
      await handles.get(kind)?.close();
      handles.delete(kind);
    }
    await save({ ...state, files });
    await finishOthers(folder, files);
  }

  async function append(lines: Lines, places: ReadonlyMap<string, string>): Promise<void> {
    await finish(false);
    const files = { ...state.files };
    const writing = KINDS.filter((kind) => lines[kind] !== '');
    for (const kind of writing) {
      files[kind] ??= { name: `${kind}-${timeOf(now())}.jsonl`, bytes: 0 };
    }
    // A file that the state does not name is finished at the next start, with all that is in it.
    if (writing.some((kind) => !state.files[kind])) await save({ ...state, files });
    for (const kind of writing) {
      const file = files[kind] ?? { name: '', bytes: 0 };
      const text = Buffer.from(lines[kind]);
      const handle = await openFile(kind, file);
      for (let at = 0; at < text.length; ) {
        const { bytesWritten } = await handle.write(text, at, text.length - at, file.bytes + at);
        at += bytesWritten;
      }
      await handle.datasync();
      files[kind] = { ...file, bytes: file.bytes + text.length };
    }
    await save({ ...state, files, places: { ...state.places, ...Object.fromEntries(places) } });
  }

  await finishOthers(folder, state.files);
  await save(state); // also says whether the folder can be written to
  return {
    id: state.id,
    placeIn: (stream) => state.places[stream],
    append: (lines, places) => inTurn(() => append(lines, places)),
    finish: (isAll) => inTurn(() => finish(isAll)),
    close: () =>
      inTurn(async () => {
        for (const handle of handles.values()) await handle.close();
        await owner.release();
      }),
  };
}

/** Finishes the files that are not being written any more. */
async function finishOthers(folder: string, current: State['files']): Promise<void> {
  const parts = new Set(KINDS.map((kind) => `${current[kind]?.name}.part`));
  for (const name of await readdir(folder)) {
    if (!PART.test(name) || parts.has(name) || !isOwnFile(join(folder, name))) continue;
    await rename(join(folder, name), join(folder, name.slice(0, -'.part'.length)));
  }
  await syncFolder(folder);
}

function readState(folder: string): State {
  try {
    return JSON.parse(readFileSync(join(folder, STATE_FILE), 'utf8')) as State;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return { id: randomUUID(), files: {}, places: {} };
    if (error instanceof SyntaxError)
      throw new Error(`${STATE_FILE} cannot be read`, { cause: error });
    throw error;
  }
}

/** As part of a name: `2026-11-21T08-30-00-000Z`. No two files begin in one millisecond. */
function timeOf(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-');
}
