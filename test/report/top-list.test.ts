import { describe, expect, it } from 'vitest';
import { createTopList } from '../../src/report/run-recorder.ts';

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
});
