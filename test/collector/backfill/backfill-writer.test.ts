import { describe, expect, it } from 'vitest';
import { linesOf, openBench } from './bench.ts';

describe('the writer of a backfill', () => {
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
    expect(bench.warnings).toEqual([]);
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
    expect(bench.warnings).toEqual(bench.notices.slice(0, 1));
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
