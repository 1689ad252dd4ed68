import { randomUUID } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { makeFolder, syncFolder } from '../common/files.ts';
import { describeHolder, type Holder, type Ownership, own } from '../store/owner.ts';

/** The two kinds of files that a collector writes. */
export type FileKind = 'enriched' | 'failures';

const KINDS: readonly FileKind[] = ['enriched', 'failures'];

/** Lines for each kind of file, whole ones. */
export type Lines = Readonly<Record<FileKind, string>>;

/** The file of a kind that is being written. */
interface FileState {
  /** In UTC, such as `2026-11-21T08`. */
  readonly hour: string;
  /** Files of one hour are counted from 1. */
  readonly number: number;
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
  /** A file that would become larger is finished. */
  readonly maxFileBytes: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when another process writes to the folder, whose end is awaited. */
  readonly onNotice: (message: string) => void;
  /** Ends that wait. */
  readonly signal: AbortSignal;
}

/** Files by the hour, in which each entry of a stream is exactly once. For one process at a time. */
export interface CollectFiles {
  /** Tells this folder from others. */
  readonly id: string;
  /** The last entry of each stream that is in the files. */
  readonly places: ReadonlyMap<string, string>;
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

/**
 * Each step may be the last before a kill:
 *
 *   append:  state with a new file, empty ──▶ lines ──▶ fsync ──▶ state with the new length and place (written beside, renamed)
 *   finish:  state without the file ──▶ `.part` renamed
 *   open:    the file of the state is cut to its length; other `.part` files are finished
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`; the signal's reason
 */
export async function openCollectFiles(options: CollectFilesOptions): Promise<CollectFiles> {
  const { folder, flag, maxFileBytes, now, onNotice, signal } = options;
  let owned: Ownership | undefined;
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
    const onHeld = (holder: Holder): void =>
      onNotice(
        `Another collector writes to ${folder} (${describeHolder(holder)}): waiting for its end.`,
      );
    const owner = await own(folder, { waitMs: Number.POSITIVE_INFINITY, onHeld, signal });
    owned = owner;
    let state = readState(folder);
    const handles = new Map<FileKind, FileHandle>();
    await finishOthers();

    async function save(next: State): Promise<void> {
      const path = join(folder, STATE_FILE);
      await writeFile(`${path}.new`, JSON.stringify(next), { flush: true });
      await rename(`${path}.new`, path);
      await syncFolder(folder);
      state = next;
    }

    /** Opens the file of a kind, without what does not count. */
    async function openFile(kind: FileKind, file: FileState): Promise<FileHandle> {
      const known = handles.get(kind);
      if (known) return known;
      const path = partPath(kind, file);
      const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW);
      handles.set(kind, handle);
      const { size } = await handle.stat();
      if (size > file.bytes) await handle.truncate(file.bytes);
      if (size >= file.bytes) return handle;
      throw new Error(
        `${path} is shorter than what was written to it: put it back, or remove it and ${STATE_FILE}`,
      );
    }

    const partPath = (kind: FileKind, file: FileState): string =>
      join(folder, `${nameOf(kind, file)}.part`);

    function nextFile(kind: FileKind): FileState {
      const hour = hourOf(now());
      const last = lastNumbers.get(`${kind}-${hour}`) ?? 0;
      return { hour, number: last + 1, bytes: 0 };
    }

    /** Those of files that are finished. Numbers are not used again while this process lives. */
    const lastNumbers = new Map<string, number>();
    for (const name of await readdir(folder)) {
      const [, key, number = '1'] = /^(\w+-[\dT-]{13})(?:-(\d+))?\.jsonl/.exec(name) ?? [];
      if (key === undefined) continue;
      lastNumbers.set(key, Math.max(lastNumbers.get(key) ?? 0, Number(number)));
    }

    async function finishOthers(): Promise<void> {
      const current = new Set(
        KINDS.map((kind) => state.files[kind] && `${nameOf(kind, state.files[kind])}.part`),
      );
      for (const name of await readdir(folder)) {
        const isOurs = /^(enriched|failures)-.*\.jsonl\.part$/.test(name);
        if (isOurs && !current.has(name)) {
          await rename(join(folder, name), join(folder, name.slice(0, -'.part'.length)));
        }
      }
    }

    async function finish(kinds: readonly FileKind[]): Promise<void> {
      const files = { ...state.files };
      for (const kind of kinds) {
        const file = files[kind];
        if (file) lastNumbers.set(`${kind}-${file.hour}`, file.number);
        delete files[kind];
        await handles.get(kind)?.close();
        handles.delete(kind);
      }
      await save({ ...state, files });
      await finishOthers();
      await syncFolder(folder);
    }

    const hasToEnd = (kind: FileKind, moreBytes: number): boolean => {
      const file = state.files[kind];
      if (!file) return false;
      return (
        file.hour !== hourOf(now()) ||
        (moreBytes > 0 && file.bytes > 0 && file.bytes + moreBytes > maxFileBytes)
      );
    };

    async function append(lines: Lines, places: ReadonlyMap<string, string>): Promise<void> {
      const texts = new Map(KINDS.map((kind) => [kind, Buffer.from(lines[kind])]));
      const ending = KINDS.filter((kind) => hasToEnd(kind, texts.get(kind)?.length ?? 0));
      if (ending.length > 0) await finish(ending);
      const files = { ...state.files };
      const writing = KINDS.filter((kind) => lines[kind] !== '');
      for (const kind of writing) files[kind] ??= nextFile(kind);
      // A file that the state does not name is finished at the next start, with all that is in it.
      if (writing.some((kind) => !state.files[kind])) await save({ ...state, files });
      for (const [kind, text] of texts) {
        const file = files[kind];
        if (!file || text.length === 0) continue;
        const handle = await openFile(kind, file);
        await handle.truncate(file.bytes); // what did not count of an earlier try
        for (let at = 0; at < text.length; ) {
          const { bytesWritten } = await handle.write(text, at, text.length - at, file.bytes + at);
          at += bytesWritten;
        }
        await handle.datasync();
        files[kind] = { ...file, bytes: file.bytes + text.length };
      }
      await save({ ...state, files, places: { ...state.places, ...Object.fromEntries(places) } });
    }

    await save(state); // also says whether the folder can be written to
    return {
      id: state.id,
      places: new Map(Object.entries(state.places)),
      append,
      finish: async (isAll) => {
        const ending = KINDS.filter((kind) => (isAll ? state.files[kind] : hasToEnd(kind, 0)));
        if (ending.length > 0) await finish(ending);
      },
      close: async () => {
        for (const handle of handles.values()) await handle.close();
        await owner.release();
      },
    };
  } catch (error) {
    await owned?.release();
    signal.throwIfAborted();
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write to the folder ${folder}: ${describeSystemError(error)}; put that right, or choose another folder with ${flag}.`,
      { cause: error },
    );
  }
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

/** The UTC hour of a time, such as `2026-11-21T08`. */
function hourOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 13);
}

/** `enriched-2026-11-21T08.jsonl`, `enriched-2026-11-21T08-2.jsonl`. */
function nameOf(kind: FileKind, { hour, number }: FileState): string {
  return `${kind}-${hour}${number === 1 ? '' : `-${number}`}.jsonl`;
}
