import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OnNotice } from '../../common/errors.ts';
import { syncFolder } from '../../common/files.ts';
import {
  fileName,
  isDue,
  type Journal,
  nextFile,
  PART_KINDS,
  type PartKind,
  type PartState,
} from './journal.ts';

/** The files that are being written, at most one of each kind, and their entries in the journal. */
export interface PartSet {
  /** The length of the file of a kind; 0 when there is none. */
  sizeOf(kind: PartKind): number;
  /** Continues every file where the journal says, and cuts off what follows. */
  recover(): Promise<void>;
  /** Makes room for more bytes: finishes files that are too old or would become too long. */
  makeWay(moreBytes: Readonly<Record<PartKind, number>>): Promise<void>;
  /** Flushes lines to the disk, and notes them in the journal with the ids of their replies. */
  append(addition: Addition): Promise<void>;
  /** Finishes all files. */
  finish(): Promise<void>;
  /** Closes all files as they are. */
  leave(): Promise<void>;
}

/** The lines of some replies. */
export interface Addition {
  readonly ids: readonly string[];
  readonly text: Readonly<Record<PartKind, Buffer>>;
  readonly lines: Readonly<Record<PartKind, number>>;
}

export interface PartSetOptions {
  readonly folder: string;
  readonly journal: Journal;
  readonly maxFileBytes: number;
  readonly onNotice: OnNotice;
  readonly now: () => number;
}

export function createPartSet(options: PartSetOptions): PartSet {
  const { folder, journal, maxFileBytes, onNotice, now } = options;
  const parts: Partial<Record<PartKind, PartFile>> = {};

  async function note(
    changed: Partial<Record<PartKind, PartState>>,
    ids: readonly string[] = [],
  ): Promise<void> {
    await journal.commit({ parts: changed, ids, nowMs: now() });
  }

  /**
   * A file is noted in the journal before its first line. Files without an entry are not ours to
   * cut.
   */
  async function begin(kind: PartKind): Promise<PartFile> {
    const state = await findFree(folder, kind, nextFile(journal.findPart(kind), now()));
    await note({ [kind]: state });
    const part = await createPart(folder, kind, state);
    parts[kind] = part;
    return part;
  }

  async function finish(kind: PartKind): Promise<void> {
    const part = parts[kind];
    if (!part) return;
    const { state } = part;
    const path = await part.finish();
    delete parts[kind];
    await note({ [kind]: { ...state, isOpen: false } });
    if (path === undefined) return;
    const lines = `${state.lines} ${state.lines === 1 ? 'line' : 'lines'}`;
    onNotice(`Finished ${path}: ${lines}.`, { level: 'info' });
  }

  async function reopen(kind: PartKind): Promise<void> {
    await parts[kind]?.close().catch(() => {});
    delete parts[kind];
    const state = journal.findPart(kind);
    if (!state?.isOpen) return;
    const part = await reopenPart(folder, kind, state);
    if (!part) return await note({ [kind]: { ...state, isOpen: false } });
    parts[kind] = part;
    if (part.state.bytes === state.bytes) return;
    const path = `${join(folder, fileName(kind, state))}.part`;
    onNotice(
      `${path} is shorter than it was: something else has changed it, and lines are missing.`,
    );
  }

  return {
    sizeOf: (kind) => parts[kind]?.state.bytes ?? 0,
    recover: async () => {
      for (const kind of PART_KINDS) await reopen(kind);
    },
    makeWay: async (moreBytes) => {
      for (const kind of PART_KINDS) {
        const limits = { nowMs: now(), moreBytes: moreBytes[kind], maxBytes: maxFileBytes };
        if (isDue(parts[kind]?.state, limits)) await finish(kind);
      }
    },
    append: async ({ ids, text, lines }) => {
      const changed: Partial<Record<PartKind, PartState>> = {};
      for (const kind of PART_KINDS) {
        if (text[kind].length === 0) continue;
        const part = parts[kind] ?? (await begin(kind));
        await part.append(text[kind]);
        const { state } = part;
        const bytes = state.bytes + text[kind].length;
        changed[kind] = { ...state, bytes, lines: state.lines + lines[kind] };
      }
      await note(changed, ids);
      for (const kind of PART_KINDS) {
        const state = changed[kind];
        if (state) parts[kind]?.advance(state);
      }
    },
    finish: async () => {
      for (const kind of PART_KINDS) await finish(kind);
    },
    leave: async () => {
      for (const kind of PART_KINDS) {
        await parts[kind]?.close().catch(() => {});
        delete parts[kind];
      }
    },
  };
}

/** A file that is being written: `<name>.part`. */
interface PartFile {
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
async function findFree(
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
async function createPart(folder: string, kind: PartKind, state: PartState): Promise<PartFile> {
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
async function reopenPart(
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
