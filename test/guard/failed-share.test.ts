import { describe, expect, it } from 'vitest';
import { createFailedShare } from '../../src/run/lookups/open-lookups.ts';

describe('the share of lookups that failed', () => {
  it('says nothing of fewer than 200', () => {
    const share = createFailedShare(0.2);
    for (let lookup = 0; lookup < 199; lookup += 1) expect(share.add(true)).toBe(false);
    expect(share.add(true)).toBe(true);
  });

  it.each([
    [40, false],
    [41, true],
  ])('with %i of 200 is more than a fifth: %s', (failures, isTooMany) => {
    const share = createFailedShare(0.2);
    let last = false;
    for (let lookup = 0; lookup < 200; lookup += 1) last = share.add(lookup < failures);
    expect(last).toBe(isTooMany);
  });

  it('of one is never exceeded', () => {
    const share = createFailedShare(1);
    for (let lookup = 0; lookup < 500; lookup += 1) expect(share.add(true)).toBe(false);
  });
});
