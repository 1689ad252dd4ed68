import { describe, expect, it } from 'vitest';
import { createInvalidRows } from '../../src/producer/plan.ts';

function gather(reasons: readonly string[], most = 3) {
  const invalid = createInvalidRows(most);
  reasons.forEach((reason, at) => invalid.add({ row: at + 1, reason, cell: `cell ${at + 1}` }));
  return {
    count: invalid.count,
    byReason: invalid.byReason,
    rows: invalid.examples.map(({ row }) => row),
  };
}

describe('rows without a domain', () => {
  it('are counted, and counted by reason', () => {
    const { count, byReason } = gather(['empty', 'empty', 'malformed', 'empty']);
    expect(count).toBe(4);
    expect(byReason).toEqual({ empty: 3, malformed: 1 });
  });

  it('are shown by one for each reason, in the order of the rows', () => {
    expect(gather(['empty', 'empty', 'empty', 'empty', 'malformed', 'ip_address']).rows).toEqual([
      1, 5, 6,
    ]);
    expect(gather(['a', 'b', 'c', 'd', 'e']).rows).toEqual([1, 2, 3]);
  });

  it('are filled up with the first where there are fewer reasons', () => {
    expect(gather(['empty', 'empty', 'empty', 'malformed', 'empty']).rows).toEqual([1, 2, 4]);
    expect(gather(['empty', 'empty']).rows).toEqual([1, 2]);
    expect(gather([]).rows).toEqual([]);
  });

  it('are shown with what fits into a line of their cell', () => {
    const invalid = createInvalidRows(3);
    const cell = `  Acme\n\u001b[31m ${'x'.repeat(100)}`;
    invalid.add({ row: 1, reason: 'contains_space', cell });
    const [example] = invalid.examples;
    expect(example?.cell).toHaveLength(61);
    expect(example?.cell).not.toMatch(/\p{Cc}/u);
  });
});
