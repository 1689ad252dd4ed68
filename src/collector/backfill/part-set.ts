import { join } from 'node:path';
import type { OnNotice } from '../../common/notice.ts';
import type { Journal } from './journal.ts';
import { createPart, findFree, type PartFile, reopenPart } from './part-file.ts';
import {
  fileName,
  isDue,
  nextFile,
  PART_KINDS,
  type PartKind,
  type PartState,
} from './rotation.ts';

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
