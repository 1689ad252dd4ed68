import { createHash } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import { HOUR_MS } from '../../common/format.ts';
import type { LmdbFile } from '../../store/lmdb-file.ts';

/** The record of what counts: how much of which file, and which replies are in it. */
export interface Journal {
  findPart(kind: PartKind): PartState | undefined;
  /** Whether a reply was written within the last day. */
  has(id: string, nowMs: number): boolean;
  /**
   * Notes what was written, in one transaction that is on the disk afterwards.
   *
   * @throws when the folder has another owner by now. Nothing is then noted.
   */
  commit(written: Written): Promise<void>;
  /** Removes replies older than a day, some at a time. */
  prune(nowMs: number): Promise<void>;
}

export interface Written {
  readonly parts: Readonly<Partial<Record<PartKind, PartState>>>;
  readonly ids: readonly string[];
  readonly nowMs: number;
}

/** A worker sends a reply again within minutes, or after an outage. */
const REMEMBERED_HOURS = 24;
const PRUNED_AT_ONCE = 5_000;
const LONGEST_KEY = 200;

/** The tables of a journal. */
export interface JournalTables {
  readonly parts: Database<PartState, PartKind>;
  readonly replies: Database<1, [hour: number, id: string]>;
}

/** Opens the tables, and creates those that do not exist. */
export function openJournalTables(root: RootDatabase): JournalTables {
  return {
    parts: root.openDB('parts', { encoding: 'json' }),
    replies: root.openDB('replies', { encoding: 'json' }),
  };
}

/**
 * @param checkOwner throws when this process may no longer write. Called within the transaction.
 */
export function createJournal(
  { commit, parts, replies }: Pick<LmdbFile, 'commit'> & JournalTables,
  checkOwner: () => void,
): Journal {
  return {
    findPart: (kind) => parts.get(kind),
    has: (id, nowMs) => {
      const key = keyOf(id);
      const now = hourNumber(nowMs);
      // One hour ahead too, in case a clock was set back.
      for (let hour = now + 1; hour >= now - REMEMBERED_HOURS; hour -= 1) {
        if (replies.get([hour, key]) !== undefined) return true;
      }
      return false;
    },
    commit: async ({ parts: changed, ids, nowMs }) => {
      await commit(() => {
        checkOwner();
        for (const [kind, state] of Object.entries(changed)) {
          parts.putSync(kind as PartKind, state);
        }
        for (const id of ids) replies.putSync([hourNumber(nowMs), keyOf(id)], 1);
      });
    },
    prune: async (nowMs) => {
      const end: [number, string] = [hourNumber(nowMs) - REMEMBERED_HOURS, ''];
      const old = [...replies.getKeys({ end, limit: PRUNED_AT_ONCE })];
      if (old.length === 0) return;
      await commit(() => {
        for (const key of old) replies.removeSync(key);
      });
    },
  };
}

function hourNumber(nowMs: number): number {
  return Math.floor(nowMs / HOUR_MS);
}

/** LMDB limits the length of keys, and ids may be of any length. */
function keyOf(id: string): string {
  if (id.length <= LONGEST_KEY && !id.includes('\0')) return id;
  return createHash('sha256').update(id).digest('base64url');
}

/** The two kinds of files that a collector writes. */
export type PartKind = 'enriched' | 'failures';

export const PART_KINDS: readonly PartKind[] = ['enriched', 'failures'];

/** The file of a kind that is being written, or the last one that was. */
export interface PartState {
  /** In UTC, such as `2026-11-21T08`. */
  readonly hour: string;
  /** Files of one hour are counted from 1. */
  readonly number: number;
  /** How many bytes of the file count. A write after these was not completed. */
  readonly bytes: number;
  readonly lines: number;
  /** False once the file is finished. */
  readonly isOpen: boolean;
}

/** The UTC hour of a time, such as `2026-11-21T08`. */
function hourOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 13);
}

/**
 * The name of a finished file: `enriched-2026-11-21T08.jsonl`, `enriched-2026-11-21T08-2.jsonl`.
 */
export function fileName(
  kind: PartKind,
  { hour, number }: Pick<PartState, 'hour' | 'number'>,
): string {
  return `${kind}-${hour}${number === 1 ? '' : `-${number}`}.jsonl`;
}

/** Whether a file has to be finished before more bytes are written. */
export function isDue(
  state: PartState | undefined,
  { nowMs, moreBytes, maxBytes }: { nowMs: number; moreBytes: number; maxBytes: number },
): boolean {
  if (!state?.isOpen) return false;
  if (state.hour !== hourOf(nowMs)) return true;
  // A reply that is longer than a file may be becomes a file of its own.
  return state.bytes > 0 && moreBytes > 0 && state.bytes + moreBytes > maxBytes;
}

/**
 * The file after the last one. Numbers are not reused, even if files were removed. The number of a
 * file without a line is reused, because that file may not even have been created.
 */
export function nextFile(
  last: PartState | undefined,
  nowMs: number,
): Pick<PartState, 'hour' | 'number'> {
  const hour = hourOf(nowMs);
  if (last?.hour !== hour) return { hour, number: 1 };
  return { hour, number: last.bytes === 0 ? last.number : last.number + 1 };
}
