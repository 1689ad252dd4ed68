import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BackfillWriter } from '../../src/collector/backfill/backfill-writer.ts';
import { linesOf, openBench } from '../collector/backfill/bench.ts';

it('the writer of a backfill writes each line once, whatever comes in between', async () => {
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
    { numRuns: 8 },
  );
}, 60_000);

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
