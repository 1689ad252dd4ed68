import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import {
  type BackfillWriter,
  type BackfillWriterOptions,
  openBackfillWriter,
} from '../../../src/collector/backfill/backfill-writer.ts';
import {
  createJournal,
  type Journal,
  openJournalTables,
} from '../../../src/collector/backfill/journal.ts';
import type { OutcomeLines } from '../../../src/collector/backfill/outcome-lines.ts';

const START_MS = Date.UTC(2026, 10, 21, 8, 10);

/** What is written of a reply: its id, as an enriched row and as a failure. */
export function linesOf(id: string): OutcomeLines {
  const text = `${JSON.stringify({ id })}\n`;
  return { text: { enriched: text, failures: text }, count: { enriched: 1, failures: 1 } };
}

/** A folder of a backfill, and what may happen to it. */
export interface Bench {
  readonly notices: readonly string[];
  /** Those of them that somebody may have to look at. */
  readonly warnings: readonly string[];
  open(more?: Partial<BackfillWriterOptions>): Promise<BackfillWriter>;
  /** Lets go of the files of a writer that is to count as killed. */
  abandon(writer: BackfillWriter): Promise<void>;
  /** Lets the next commits fail, before they are made or when they are. */
  failCommits(commits: number, when: 'before' | 'after'): void;
  advance(ms: number): void;
  tear(text: string): void;
  names(): string[];
  lines(kind: string): string[];
  close(): Promise<void>;
}

export async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'brandfill-test-'));
  // Nothing here is about a power failure, and each commit would wait for the disk.
  const root = openLmdb({ path: join(folder, '.collect'), noSubdir: false, noSync: true });
  const commit = async <T>(change: () => T): Promise<T> => root.transactionSync(change);
  const real = createJournal({ commit, ...openJournalTables(root) }, () => {});
  const notices: string[] = [];
  const warnings: string[] = [];
  let nowMs = START_MS;
  let failing = 0;
  let moment = 'before';
  let isOurs = true;
  const journal: Journal = {
    ...real,
    commit: async (written) => {
      failing -= 1;
      if (failing < 0) return await real.commit(written);
      if (moment === 'after') await real.commit(written);
      throw Object.assign(new Error(), { code: 'ENOSPC' });
    },
  };
  const names = (): string[] =>
    readdirSync(folder)
      .filter((name) => name !== '.collect')
      .sort();
  return {
    notices,
    warnings,
    open: async (more = {}) => {
      failing = 0;
      isOurs = true;
      return await openBackfillWriter({
        folder,
        journal,
        maxFileBytes: 60,
        onNotice: (message, { level = 'warn' } = {}) => {
          notices.push(message);
          if (level === 'warn') warnings.push(message);
        },
        isOurs: () => isOurs,
        onLost: () => {},
        retryMs: 1,
        now: () => nowMs,
        ...more,
      });
    },
    abandon: async (writer) => {
      isOurs = false;
      await writer.close();
    },
    failCommits: (commits, when) => {
      failing = commits;
      moment = when;
    },
    advance: (ms) => {
      nowMs += ms;
    },
    tear: (text) => {
      for (const name of names().filter((name) => name.endsWith('.part'))) {
        appendFileSync(join(folder, name), text);
      }
    },
    names,
    lines: (kind) =>
      names()
        .filter((name) => name.startsWith(kind))
        .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
        .map((line) => (JSON.parse(line) as { id: string }).id),
    close: async () => {
      await root.close();
      rmSync(folder, { recursive: true });
    },
  };
}
