import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { freeBytes } from '../../common/files.ts';
import { PART_KINDS, type PartKind } from './journal.ts';
import type { OutcomeLines } from './outcome-lines.ts';
import { createPartSet, type PartSetOptions } from './part-set.ts';

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
