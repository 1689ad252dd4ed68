import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BrandfillError, describeSystemError, type OnNotice } from '../../common/errors.ts';
import { freeBytes, syncFolder } from '../../common/files.ts';
import {
  fileName,
  isDue,
  type Journal,
  nextFile,
  PART_KINDS,
  type PartKind,
  type PartState,
} from './journal.ts';
import type { OutcomeLines } from './outcome-lines.ts';

/** Appends replies to files, each exactly once. */
export interface BackfillWriter {
  /**
   * @returns when the reply is on the disk: true if it was written now, false if it was there
   *   already
   * @throws when it could not be written before `giveUp` was called
   */
  keep(id: string, lines: OutcomeLines): Promise<boolean>;
  /** From now on, failed writes are not retried. */
  giveUp(): void;
  /** Finishes files of past hours. */
  tidy(): Promise<void>;
  /** Writes all waiting replies and finishes all files. */
  close(): Promise<void>;
}

export interface BackfillWriterOptions extends Omit<PartSetOptions, 'now'> {
  /** Whether no other collector has taken the folder. */
  readonly isOurs: () => boolean;
  /** Called when another collector has taken the folder. Nothing more is then written. */
  readonly onLost: () => void;
  /** How long to wait after a failed write. @default 1 s */
  readonly retryMs?: number;
  readonly now?: () => number;
}

interface Reply {
  readonly id: string;
  readonly text: Readonly<Record<PartKind, Buffer>>;
  readonly count: OutcomeLines['count'];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const RETRY_MS = 1_000;
/** Disk space that is kept free, so that the journal can always be written. */
const RESERVED_BYTES = 4 * 1024 * 1024;

/**
 * Replies that come during a write share the next one:
 *
 * 1. Lines are appended and flushed to the disk.
 * 2. The journal notes, in one transaction, the new lengths and the ids of the replies.
 * 3. Only then each reply counts as stored.
 *
 * A process that is killed in between leaves bytes beyond the noted length, which are cut off
 * before anything else is written. So a reply that is not in the journal was not written, and comes
 * again.
 */
export async function openBackfillWriter(options: BackfillWriterOptions): Promise<BackfillWriter> {
  const { folder, journal, maxFileBytes, onNotice, isOurs, onLost } = options;
  const { retryMs = RETRY_MS, now = Date.now } = options;
  const parts = createPartSet({ ...options, now });
  const underWay = new Map<string, Promise<boolean>>();
  const stop = new AbortController();
  let waiting: Reply[] = [];
  let turn: Promise<void> = Promise.resolve();
  let isBusy = false;
  /** After a failure it is unknown how much was written. The journal has to be read again. */
  let isDoubtful = false;
  let trouble = '';

  /** Does one piece of work after another. */
  async function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    await mine;
  }

  async function writeWaiting(): Promise<void> {
    for (let first = waiting[0]; first; first = waiting[0]) await tryToWrite(first);
    isBusy = false; // set at once, because the next reply depends on it
  }

  async function tryToWrite(first: Reply): Promise<void> {
    try {
      if (isDoubtful) return await recover();
      await parts.makeWay(sizesOf([first]));
      const group = nextGroup();
      await write(group);
      settle(group);
    } catch (error) {
      isDoubtful = true;
      if (!isOurs()) {
        onLost();
        return rejectAll(error);
      }
      await recover().catch(() => {}); // if it fails, it is tried before the next write
      tell(error);
      if (stop.signal.aborted) rejectAll(error);
      else await untilRetry();
    }
  }

  async function recover(): Promise<void> {
    await parts.recover();
    isDoubtful = false;
    // A commit may have succeeded although it reported an error.
    const written = waiting.filter(({ id }) => journal.has(id, now()));
    if (written.length > 0) settle(written);
  }

  /** The first waiting replies that fit into the files as they are. The first one always does. */
  function nextGroup(): readonly Reply[] {
    const group: Reply[] = [];
    const bytes = { enriched: parts.sizeOf('enriched'), failures: parts.sizeOf('failures') };
    for (const reply of waiting) {
      const sizes = sizesOf([reply]);
      const isTooLong = PART_KINDS.some(
        (kind) => bytes[kind] > 0 && sizes[kind] > 0 && bytes[kind] + sizes[kind] > maxFileBytes,
      );
      if (isTooLong && group.length > 0) break;
      group.push(reply);
      for (const kind of PART_KINDS) bytes[kind] += sizes[kind];
    }
    return group;
  }

  async function write(group: readonly Reply[]): Promise<void> {
    if (!isOurs()) throw new Error('another collector has taken the folder');
    const { enriched, failures } = sizesOf(group);
    if (freeBytes(folder) < RESERVED_BYTES + enriched + failures) {
      throw Object.assign(new Error(), { code: 'ENOSPC' });
    }
    await parts.append({
      ids: group.map(({ id }) => id),
      text: forEachKind((kind) => Buffer.concat(group.map(({ text }) => text[kind]))),
      lines: forEachKind((kind) => group.reduce((sum, { count }) => sum + count[kind], 0)),
    });
  }

  function settle(group: readonly Reply[]): void {
    const settled = new Set(group);
    waiting = waiting.filter((reply) => !settled.has(reply));
    if (trouble !== '') onNotice(`${folder} can be written to again.`, { level: 'info' });
    trouble = '';
    for (const { resolve } of group) resolve();
  }

  function rejectAll(error: unknown): void {
    const rejected = waiting;
    waiting = [];
    for (const { reject } of rejected) reject(error);
  }

  function tell(error: unknown): void {
    const reason = describeSystemError(error);
    if (reason === trouble) return;
    trouble = reason;
    onNotice(
      `Cannot write to ${folder}: ${reason}. Nothing is lost: outcomes stay on the queue, and writing continues by itself once this is fixed.`,
    );
  }

  async function untilRetry(): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        stop.signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, retryMs);
      stop.signal.addEventListener('abort', end);
    });
  }

  async function add(id: string, { text, count }: OutcomeLines): Promise<boolean> {
    if (journal.has(id, now())) return false;
    await new Promise<void>((resolve, reject) => {
      const bytes = forEachKind((kind) => Buffer.from(text[kind]));
      waiting.push({ id, text: bytes, count, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      void inTurn(writeWaiting);
    });
    return true;
  }

  await parts.recover();
  return {
    keep: async (id, lines) => {
      const earlier = underWay.get(id);
      if (earlier) return await earlier.then(() => false);
      const kept = add(id, lines).finally(() => underWay.delete(id));
      underWay.set(id, kept);
      return await kept;
    },
    giveUp: () => stop.abort(),
    tidy: () =>
      inTurn(async () => {
        try {
          if (!isOurs()) return onLost();
          if (isDoubtful) await recover();
          await parts.makeWay({ enriched: 0, failures: 0 });
          await journal.prune(now());
        } catch (error) {
          isDoubtful = true;
          tell(error);
        }
      }),
    close: async () => {
      stop.abort();
      await inTurn(async () => {
        if (!isOurs()) return await parts.leave();
        try {
          if (isDoubtful) await recover();
          await parts.finish();
        } catch (error) {
          await parts.leave();
          throw unfinished(folder, error);
        }
      });
    },
  };
}

function unfinished(folder: string, error: unknown): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot finish the files in ${folder}: ${describeSystemError(error)}. What is not in them is still on the queue: put that right, and collect again.`,
    { cause: error },
  );
}

function sizesOf(replies: readonly Reply[]): Record<PartKind, number> {
  return forEachKind((kind) => replies.reduce((sum, { text }) => sum + text[kind].length, 0));
}

function forEachKind<T>(valueOf: (kind: PartKind) => T): Record<PartKind, T> {
  return { enriched: valueOf('enriched'), failures: valueOf('failures') };
}

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

function createPartSet(options: PartSetOptions): PartSet {
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
