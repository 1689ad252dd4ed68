import { expect, it } from 'vitest';
import { createDomainRows } from '../../src/producer/distinct-domains.ts';

it('knows how many rows have a domain, also while it grows', () => {
  const { again, rowsOf } = createDomainRows();
  const rowsAt = (at: number): number => 1 + (at % 4);
  for (let at = 0; at < 50_000; at += 1) {
    for (let row = 1; row < rowsAt(at); row += 1) again(`company-${at}.com`);
  }
  const all = Array.from({ length: 50_000 }, (_, at) => at);
  expect(all.filter((at) => rowsOf(`company-${at}.com`) !== rowsAt(at))).toEqual([]);
  expect(rowsOf('another.com')).toBe(1);
});
