import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPaint, type Paint } from '../../../src/watch/block.ts';
import type { Progress } from '../../../src/watch/events.ts';
import { createLookupsBlock } from '../../../src/watch/progress-block.ts';
import { PROGRESS } from '../progress.ts';

const PLAIN = createPaint({});

/** In the middle of a run, seen for half a minute at 48 calls a second. */
const MIDDLE: Progress = {
  ...PROGRESS,
  lookups: 80_000,
  done: 44_000,
  calls: 46_000,
  outcomes: { found: 40_000, not_found: 3_000, rejected: 12, failed: 988, pending: 0 },
  rows: {
    total: 100_000,
    found: 41_020,
    not_found: 3_100,
    rejected: 12,
    failed: 1_044,
    pending: 0,
    invalid: 1_203,
    fresh: 12_000,
    skipped: 0,
  },
  elapsedMs: 900_000,
  pace: {
    limitIs: 'learned',
    ratePerSecond: 48,
    learnedLimitPerSecond: 50,
    waitMs: 0,
    why: 'holding',
  },
};

function linesOf(progress: Progress, columns: number, paint: Paint = PLAIN): readonly string[] {
  const block = createLookupsBlock(paint);
  for (let beforeMs = 30_000; beforeMs >= 0; beforeMs -= 250) {
    const less = Math.round((beforeMs / 1_000) * 48);
    const { calls, done, elapsedMs } = progress;
    block.look({
      ...progress,
      calls: Math.max(0, calls - less),
      done: Math.max(0, done - less),
      elapsedMs: elapsedMs - beforeMs,
    });
  }
  return block.lines(columns);
}

describe('the block of the lookups', () => {
  it.each([
    [
      200,
      [
        '███████████████████████░░░░░░░░░░░░░░░░░  58%  58,379 of 100,000 rows',
        '41,020 found, 3,100 not found, 12 rejected, 1,044 failed, 1,203 invalid, 12,000 fresh',
        '48 calls/s, limit about 50/s, about 13 min left',
      ],
    ],
    [
      80,
      [
        '███████████████████████░░░░░░░░░░░░░░░░░  58%  58,379 of 100,000 rows',
        '41,020 found, 3.1K not found, 12 rejected, 1,044 failed, 1.2K invalid, 12K fresh',
        '48 calls/s, limit about 50/s, about 13 min left',
      ],
    ],
    [
      40,
      [
        '██████░░░░░  58%  58,379 of 100,000 rows',
        '41,020 found, 3.1K not found, 1K failed',
        '48/s, limit 50/s, about 13 min left',
      ],
    ],
    [20, ['██░░░  58%  58K/100K', '41K found, 1K failed', '48/s, 13 min left']],
  ])('in %i columns', (columns, lines) => {
    expect(linesOf(MIDDLE, columns)).toEqual(lines);
  });

  it.each([
    [
      { waitMs: 12_000, pace: { ...MIDDLE.pace, why: 'told_to_wait' } },
      'The API says to wait: calls go on in 12 s',
    ],
    [
      { pace: { ...MIDDLE.pace, why: 'backing_off' } },
      'The API answers 429 (slow down): backing off',
    ],
    [
      { outage: 'The API has been out for 20 s; one call tries again in 5 s.' },
      'The API has been out for 20 s; one call tries again in 5 s.',
    ],
    [
      {
        waitMs: 17_000,
        pace: { limitIs: 'fixed', ratePerSecond: 0.05, waitMs: 0, why: 'holding' },
      },
      'Held to the rate: next call in 17 s',
    ],
    [{ isPaused: true }, 'Paused: no new call starts until it is resumed'],
    [{ heldBy: 'no_worker' }, 'No worker is there to make the lookups'],
    [{ heldBy: 'retry_budget' }, 'Too many calls fail: retries wait for their turn'],
    [{ heldBy: 'another_run' }, 'Another run asks about what is left: waiting for its answers'],
  ] as const)('says why it waits: %j', (wait, said) => {
    expect(linesOf({ ...MIDDLE, ...(wait as Partial<Progress>) }, 80)[3]).toBe(said);
    const short = linesOf({ ...MIDDLE, ...(wait as Partial<Progress>) }, 20)[3];
    expect(short?.length).toBeLessThanOrEqual(20);
  });

  it.each([
    [{ limitIs: 'fixed', ratePerSecond: 50, waitMs: 0, why: 'holding' }, 'held to 50/s'],
    [{ limitIs: 'unknown', ratePerSecond: 9, waitMs: 0, why: 'starting' }, 'finding the limit'],
    [{ ...MIDDLE.pace, why: 'probing' }, 'limit about 50/s, probing'],
    [{ ...MIDDLE.pace, concurrencyLimit: 8 }, 'limit about 50/s, at most 8 at once'],
  ] as const)('says what limits the pace: %j', (pace, said) => {
    const progress = { ...MIDDLE, pace: pace as Progress['pace'] };
    expect(linesOf(progress, 80)[2]).toBe(`48 calls/s, ${said}, about 13 min left`);
  });

  it('leaves the time out when nobody knows it, or when nothing is left', () => {
    expect(createLookupsBlock(PLAIN).lines(80)).toEqual([]);
    expect(linesOf({ ...MIDDLE, isPaused: true }, 80)[2]).not.toContain('left');
    const pace = { ...MIDDLE.pace, why: 'probing' } as Progress['pace'];
    const over = { ...MIDDLE, pace, done: MIDDLE.lookups };
    expect(linesOf(over, 80)[2]).toBe('48 calls/s, limit about 50/s');
  });

  it.each(['open', 'probing', 'told_to_wait'] as const)(
    'of a stopped run tells neither time left nor wait: %s',
    (why) => {
      const rows = { ...MIDDLE.outcomes, total: 100_000, invalid: 0, fresh: 0, skipped: 41_880 };
      const pace = { ...MIDDLE.pace, why } as Progress['pace'];
      const lines = linesOf({ ...MIDDLE, rows, pace, waitMs: 12_000 }, 80);
      expect(lines.slice(2)).toEqual(['48 calls/s, limit about 50/s']);
    },
  );

  it('is full when each row has come to something, and not before', () => {
    const rows = {
      total: 100_000,
      found: 99_999,
      not_found: 0,
      rejected: 0,
      failed: 0,
      pending: 0,
    };
    const counted = (invalid: number, skipped: number): string | undefined =>
      linesOf({ ...MIDDLE, rows: { ...rows, invalid, fresh: 0, skipped } }, 40)[0];
    expect(counted(0, 0)).toBe('██████████░  99%  99,999 of 100,000 rows');
    expect(counted(1, 0)).toBe('█████████  100%  100,000 of 100,000 rows');
    expect(counted(0, 1)).toBe('██████████░  99%  99,999 of 100,000 rows');
  });

  it('colours what was found, what failed, and waits', () => {
    const paint = createPaint({ hasColors: () => true });
    const [bar, counts, pace, wait] = linesOf({ ...MIDDLE, isPaused: true }, 90, paint);
    const green = '\u001b[32m41,020 found\u001b[39m';
    const red = '\u001b[31m1,044 failed\u001b[39m';
    expect(counts).toContain(`${green}, 3,100 not found, 12 rejected, ${red}, `);
    expect(wait).toBe('\u001b[33mPaused: no new call starts until it is resumed\u001b[39m');
    expect(`${bar}${pace}`).not.toContain('\u001b');
  });

  it('is never wider than the window, whatever there is to say', () => {
    const count = fc.nat({ max: 2_000_000_000 });
    const rows = fc.record({
      total: count,
      found: count,
      not_found: count,
      rejected: count,
      failed: count,
      pending: count,
      invalid: count,
      fresh: count,
      skipped: count,
    });
    const pace = fc.record({
      limitIs: fc.constantFrom('fixed', 'published', 'learned', 'unknown'),
      ratePerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
      learnedLimitPerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
      concurrencyLimit: count,
      waitMs: count,
      why: fc.constantFrom('open', 'told_to_wait', 'backing_off', 'probing', 'starting', 'holding'),
    });
    const heldBy = fc.constantFrom(undefined, 'no_worker', 'retry_budget', 'another_run');
    const progress = fc.record({ rows, pace, heldBy, waitMs: count, done: count, lookups: count });
    fc.assert(
      fc.property(progress, fc.integer({ min: 1, max: 220 }), (some, columns) => {
        const lines = linesOf({ ...MIDDLE, ...some }, columns);
        expect(lines.filter((line) => line.length > columns)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
