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
  const { folder, flag, onNotice, signal } = options;
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
    const files = new OwnedFiles(options, owner);
    await files.open();
    return files;
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

/** The files of a folder that this process owns. What `#state` says of them is on the disk. */
class OwnedFiles implements CollectFiles {
  readonly id: string;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #owner: Ownership;
  readonly #handles = new Map<FileKind, FileHandle>();
  readonly #inTurn = createMutex(); // one change at a time
  #state: State;

  constructor({ folder, now }: CollectFilesOptions, owner: Ownership) {
    this.#folder = folder;
    this.#now = now;
    this.#owner = owner;
    this.#state = readState(folder);
    this.id = this.#state.id;
  }

  /** Puts right what a kill has left. */
  async open(): Promise<void> {
    await finishOthers(this.#folder, this.#state.files);
    await this.#save(this.#state); // also says whether the folder can be written to
  }

  placeIn(stream: string): string | undefined {
    return this.#state.places[stream];
  }

  append(lines: Lines, places: ReadonlyMap<string, string>): Promise<void> {
    return this.#inTurn(() => this.#append(lines, places));
  }

  finish(isAll: boolean): Promise<void> {
    return this.#inTurn(() => this.#finish(isAll));
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      for (const handle of this.#handles.values()) await handle.close();
      await this.#owner.release();
    });
  }

  async #append(lines: Lines, places: ReadonlyMap<string, string>): Promise<void> {
    await this.#finish(false);
    const files = { ...this.#state.files };
    const writing = KINDS.filter((kind) => lines[kind] !== '');
    for (const kind of writing) {
      files[kind] ??= { name: `${kind}-${timeOf(this.#now())}.jsonl`, bytes: 0 };
    }
    // A file that the state does not name is finished at the next start, with all that is in it.
    if (writing.some((kind) => !this.#state.files[kind])) await this.#save({ files });
    for (const kind of writing) {
      files[kind] = await this.#write(kind, files[kind] ?? { name: '', bytes: 0 }, lines[kind]);
    }
    await this.#save({ files, places: { ...this.#state.places, ...Object.fromEntries(places) } });
  }

  async #finish(isAll: boolean): Promise<void> {
    const hour = timeOf(this.#now()).slice(0, 13);
    const files = { ...this.#state.files };
    const ending = KINDS.filter((kind) => {
      const file = files[kind];
      return file && (isAll || !file.name.startsWith(`${kind}-${hour}`));
    });
    if (ending.length === 0) return;
    for (const kind of ending) {
      delete files[kind];
      await this.#handles.get(kind)?.close();
      this.#handles.delete(kind);
    }
    await this.#save({ files });
    await finishOthers(this.#folder, files);
  }

  async #save(changed: Partial<State>): Promise<void> {
    const next = { ...this.#state, ...changed };
    const path = join(this.#folder, STATE_FILE);
    await writeFile(`${path}.new`, JSON.stringify(next), { flush: true });
    await rename(`${path}.new`, path);
    await syncFolder(this.#folder);
    this.#state = next;
  }

  /** Appends to what counts of a file. */
  async #write(kind: FileKind, { name, bytes }: FileState, lines: string): Promise<FileState> {
    const handle = await this.#open(kind, { name, bytes });
    const text = Buffer.from(lines);
    for (let at = 0; at < text.length; ) {
      const { bytesWritten } = await handle.write(text, at, text.length - at, bytes + at);
      at += bytesWritten;
    }
    await handle.datasync();
    return { name, bytes: bytes + text.length };
  }

  /** Opens the file of a kind, and takes away what does not count. */
  async #open(kind: FileKind, { name, bytes }: FileState): Promise<FileHandle> {
    const path = join(this.#folder, `${name}.part`);
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    const handle = this.#handles.get(kind) ?? (await open(path, flags));
    this.#handles.set(kind, handle);
    if ((await handle.stat()).size >= bytes) {
      await handle.truncate(bytes);
      return handle;
    }
    throw new Error(
      `${path} is shorter than what was written to it: put it back, or remove it and ${STATE_FILE}`,
    );
  }
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
