import { describe, expect, it } from 'vitest';
import { addCall, type CallCounts, totalOf } from '../../src/guard/limit-by-503.ts';

/** Counts one failure at each of these seconds. */
function failAt(...seconds: readonly number[]): CallCounts {
  const counts: CallCounts = [];
  for (const second of seconds) addCall(counts, { isFailure: true, nowMs: second * 1_000 + 500 });
  return counts;
}

describe('the counts of calls', () => {
  it('are kept by the second, for 30 of them', () => {
    const counts = failAt(1, 1, 2, 31);
    addCall(counts, { isFailure: false, nowMs: 31_999 });
    expect(counts).toEqual([
      { second: 2, calls: 1, failures: 1 },
      { second: 31, calls: 2, failures: 1 },
    ]);
    expect(totalOf(counts)).toEqual({ calls: 3, failures: 2 });
  });

  it('take what comes a little late', () => {
    expect(failAt(5, 4, 5)).toEqual([{ second: 5, calls: 3, failures: 3 }]);
  });

  it('forget a time that is still to come, because the clock was set back', () => {
    expect(failAt(5, 90, 7)).toEqual([{ second: 7, calls: 1, failures: 1 }]);
    expect(failAt(5, 20, 7)).toEqual([
      { second: 5, calls: 1, failures: 1 },
      { second: 7, calls: 1, failures: 1 },
    ]);
  });
});
