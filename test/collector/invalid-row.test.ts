import { describe, expect, it } from 'vitest';
import { createInvalidRows } from '../../src/collector/plan.ts';

function gather(reasons: readonly string[], most = 3) {
  const invalid = createInvalidRows(most);
  reasons.forEach((reason, at) => invalid.add({ row: at + 1, reason, cell: `cell ${at + 1}` }));
  return invalid.examples.map(({ row }) => row);
}

describe('rows without a domain', () => {
  it('are shown by one for each reason, in the order of the rows', () => {
    expect(gather(['empty', 'empty', 'empty', 'empty', 'malformed', 'ip_address'])).toEqual([
      1, 5, 6,
    ]);
    expect(gather(['a', 'b', 'c', 'd', 'e'])).toEqual([1, 2, 3]);
  });

  it('are filled up with the first where there are fewer reasons', () => {
    expect(gather(['empty', 'empty', 'empty', 'malformed', 'empty'])).toEqual([1, 2, 4]);
    expect(gather(['empty', 'empty'])).toEqual([1, 2]);
    expect(gather([])).toEqual([]);
  });
});
