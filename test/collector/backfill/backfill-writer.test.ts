import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { open as openLmdb } from 'lmdb';
import { describe, expect, it } from 'vitest';
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

describe('the writer of a backfill', () => {
  it('writes each line once, whatever comes in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { maxLength: 25 }), async (steps) => {
        const bench = await openBench();
        const open = new Set<string>();
        let writer = await bench.open();
        let number = 0;
        for (const step of steps) {
          switch (step.do) {
            case 'keep': {
              const ids = Array.from({ length: step.replies }, () => `o-${(number += 1)}`);
              for (const id of ids) open.add(id);
              await keepAll(writer, ids, open);
              break;
            }
            case 'again':
              await keepAll(writer, [...open, ...(number > 0 ? [`o-${number}`] : [])], open);
              break;
            case 'fail':
              bench.failCommits(step.commits, step.when);
              break;
            case 'crash': {
              // Killed between the write and its commit, or between the commit and its acknowledgement.
              const ids = Array.from({ length: 5 }, () => `o-${(number += 1)}`);
              for (const id of ids) open.add(id);
              bench.failCommits(Number.POSITIVE_INFINITY, step.when);
              writer.giveUp();
              await keepAll(writer, ids, open).catch(() => {});
              await bench.abandon(writer);
              bench.tear(step.torn);
              writer = await bench.open();
              break;
            }
            case 'stop':
              bench.failCommits(0, 'before');
              await writer.close();
              writer = await bench.open();
              break;
            case 'wait':
              bench.advance(step.ms);
              await writer.tidy();
              break;
          }
        }
        bench.failCommits(0, 'before');
        await keepAll(writer, [...open], open);
        await writer.close();
        expect(open.size).toBe(0);
        const expected = Array.from({ length: number }, (_, at) => `o-${at + 1}`);
        expect(bench.lines('enriched').sort()).toEqual(expected.sort());
        expect(bench.lines('failures').sort()).toEqual(expected);
        expect(bench.names().filter((name) => name.endsWith('.part'))).toEqual([]);
        await bench.close();
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  it('begins a new file with the hour and with its number after a stop', async () => {
    const bench = await openBench();
    for (const id of ['o-a', 'o-b']) {
      const writer = await bench.open();
      await writer.keep(id, linesOf(id));
      await writer.close();
    }
    const writer = await bench.open();
    await writer.keep('o-c', linesOf('o-c'));
    bench.advance(60 * 60_000);
    await writer.tidy(); // nobody writes, and it is finished all the same
    expect(bench.names().filter((name) => name.startsWith('enriched'))).toEqual([
      'enriched-2026-11-21T08-2.jsonl',
      'enriched-2026-11-21T08-3.jsonl',
      'enriched-2026-11-21T08.jsonl',
    ]);
    expect(bench.notices.at(-1)).toMatch(/^Finished .+failures-2026-11-21T08-3\.jsonl: 1 line\.$/);
    await writer.close();
    await bench.close();
  });

  it('says once why it cannot write, and goes on by itself', async () => {
    const bench = await openBench();
    const writer = await bench.open();
    bench.failCommits(4, 'before');
    expect(await writer.keep('o-a', linesOf('o-a'))).toBe(true);
    expect(await writer.keep('o-a', linesOf('o-a'))).toBe(false);
    expect(bench.notices).toEqual([
      expect.stringMatching(/^Cannot write to .+: the disk is full\. Nothing is lost: /),
      expect.stringMatching(/ can be written to again\.$/),
    ]);
    expect(bench.lines('enriched')).toEqual(['o-a']);
    await writer.close();
    await bench.close();
  });

  it('writes nothing more when another one has taken the folder', async () => {
    const bench = await openBench();
    let isLost = false;
    const writer = await bench.open({ isOurs: () => false, onLost: () => (isLost = true) });
    await expect(writer.keep('o-a', linesOf('o-a'))).rejects.toThrow('another collector');
    await writer.close();
    expect(isLost).toBe(true);
    expect(bench.names()).toEqual([]);
    await bench.close();
  });
});

const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('keep'), replies: fc.integer({ min: 1, max: 9 }) }),
  },
  fc.record({ do: fc.constant('again') }),
  fc.record({
    do: fc.constant('fail'),
    commits: fc.integer({ min: 1, max: 5 }),
    when: fc.constantFrom('before', 'after'),
  }),
  fc.record({
    do: fc.constant('crash'),
    when: fc.constantFrom('before', 'after'),
    torn: fc.constantFrom('', '{"id":"o-', '{"id":"x"}\n'),
  }),
  fc.record({ do: fc.constant('stop') }),
  fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 0, max: 5_400_000 }) }),
) as fc.Arbitrary<
  | { readonly do: 'keep'; readonly replies: number }
  | { readonly do: 'again' | 'stop' }
  | { readonly do: 'fail'; readonly commits: number; readonly when: 'before' | 'after' }
  | { readonly do: 'crash'; readonly when: 'before' | 'after'; readonly torn: string }
  | { readonly do: 'wait'; readonly ms: number }
>;

async function keepAll(
  writer: BackfillWriter,
  ids: readonly string[],
  open: Set<string>,
): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      await writer.keep(id, linesOf(id));
      open.delete(id);
    }),
  );
}

function linesOf(id: string): OutcomeLines {
  const text = `${JSON.stringify({ id })}\n`;
  return { text: { enriched: text, failures: text }, count: { enriched: 1, failures: 1 } };
}

interface Bench {
  readonly notices: readonly string[];
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

async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'brandfill-test-'));
  // Nothing here is about a power failure, and each commit would wait for the disk.
  const root = openLmdb({ path: join(folder, '.collect'), noSubdir: false, noSync: true });
  const commit = async <T>(change: () => T): Promise<T> => root.transactionSync(change);
  const real = createJournal({ commit, ...openJournalTables(root) }, () => {});
  const notices: string[] = [];
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
    open: async (more = {}) => {
      failing = 0;
      isOurs = true;
      return await openBackfillWriter({
        folder,
        journal,
        maxFileBytes: 60,
        onNotice: (message) => notices.push(message),
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
