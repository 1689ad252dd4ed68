import { describe, expect, it } from 'vitest';
import { canGoOn, closing, phaseOf, startOf } from '../../src/page/client/moment.ts';
import { createStatusCounts } from '../../src/watch/run-view.ts';

describe('what the page says of a run is true at that moment', () => {
  it.each([
    { given: 'it goes on', phase: 'looking_up', says: /^You may close this page: it goes on/ },
    { given: 'it is written', phase: 'writing', says: /^You may close this page: it goes on/ },
    { given: 'it is paused', phase: 'looking_up', isPaused: true, says: /^It is paused, also/ },
    { given: 'it is over', phase: 'ended', says: /^One moment: the result/ },
    { given: 'it stops', phase: 'stopping', says: /^It stops: calls under way end/ },
    { given: 'the page hears nothing', phase: 'looking_up', link: 'lost', says: /from before/ },
    { given: 'nobody is signed in', phase: 'stopping', link: 'signed_out', says: /from before/ },
  ] as const)('whether it may be closed, when $given', ({ phase, says, ...at }) => {
    const { isPaused, link } = { isPaused: false, link: 'live' as const, ...at };
    expect(closing({ phase, isPaused }, link)).toMatch(says);
  });

  it.each([
    { given: 'all are found', end: 'done', rows: { found: 9 }, holds: false },
    { given: 'the rest is not known', end: 'done', rows: { found: 8, not_found: 1 }, holds: false },
    { given: 'a lookup failed', end: 'some_failed', rows: { failed: 1 }, holds: true },
    { given: 'a bound stopped it', end: 'stopped', rows: { skipped: 3 }, holds: true },
    { given: 'an answer is old', end: 'done', rows: { stale: 1 }, holds: true },
    { given: 'it was interrupted', end: 'interrupted', rows: {}, holds: true },
    { given: 'its process is gone', end: undefined, rows: {}, holds: true },
  ] as const)('whether it can go on, when $given', ({ end, rows, holds }) => {
    const statuses = { ...createStatusCounts(), ...rows };
    const phase = end === undefined ? 'lost' : 'ended';
    expect(canGoOn({ phase, end, statuses })).toBe(holds);
  });

  it.each([
    { at: { isPaused: true, phase: 'looking_up' }, says: 'Paused' },
    { at: { isPaused: false, phase: 'looking_up' }, says: 'Looking up' },
    { at: { isPaused: false, phase: 'ended', end: 'stopped' }, says: 'Stopped early' },
    { at: { isPaused: false, phase: 'lost' }, says: 'Broken off' },
  ] as const)('where it is: $says', ({ at, says }) => {
    expect(phaseOf({ end: undefined, ...at })).toBe(says);
  });
});

describe('the button that starts a run says what that may cost', () => {
  const bill = { units: 300, unit: 'credits' };
  it.each([
    { plan: { calls: 100 }, most: undefined, says: 'Start' },
    { plan: { calls: 100, cost: 5 }, most: undefined, says: 'Start, for about 5.00' },
    { plan: { calls: 100, cost: 5, bill }, most: 20, says: 'Start, for about 60 credits, 1.00' },
    { plan: { calls: 100, bill }, most: 500, says: 'Start, for about 300 credits' },
    { plan: { calls: 0, cost: 0 }, most: undefined, says: 'Start, for about 0.00' },
  ])('$says', ({ plan, most, says }) => {
    const priced = { cost: undefined, currency: undefined, bill: undefined, ...plan };
    expect(startOf(priced, most)).toBe(says);
  });
});
