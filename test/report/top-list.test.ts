import { describe, expect, it } from 'vitest';
import { createTopList } from '../../src/report/run-recorder.ts';
import { useSeededRandom } from '../support/seeded-random.ts';

interface Entry {
  readonly domain: string;
  readonly size: number;
}

const sizeOf = ({ size }: Entry): number => size;

describe('a top list', () => {
  it('keeps the largest entry of each domain, the largest first', () => {
    const list = createTopList<Entry>(2, sizeOf);
    list.offer({ domain: 'a', size: 1 });
    list.offer({ domain: 'b', size: 5 });
    list.offer({ domain: 'c', size: 3 });
    list.offer({ domain: 'c', size: 9 });
    list.offer({ domain: 'c', size: 4 });
    list.offer({ domain: 'd', size: 2 });
    expect(list.entries).toEqual([
      { domain: 'c', size: 9 },
      { domain: 'b', size: 5 },
    ]);
  });

  it('leaves out what is worth nothing', () => {
    const list = createTopList<Entry>(2, sizeOf);
    list.offer({ domain: 'a', size: 0 });
    expect(list.entries).toEqual([]);
  });

  it('comes to the same as sorting all', () => {
    const random = useSeededRandom();
    const all = Array.from({ length: 5_000 }, (_, at) => ({
      domain: `d${at % 700}`,
      size: Math.floor(random() * 1e6) + 1,
    }));
    const list = createTopList<Entry>(20, sizeOf);
    for (const entry of all) list.offer(entry);
    const largest = new Map<string, number>();
    for (const { domain, size } of all) {
      largest.set(domain, Math.max(size, largest.get(domain) ?? 0));
    }
    const expected = [...largest.values()].sort((one, other) => other - one).slice(0, 20);
    expect(list.entries.map(sizeOf)).toEqual(expected);
  });
});
