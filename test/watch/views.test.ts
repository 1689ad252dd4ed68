import { describe, expect, it } from 'vitest';
import type { Progress } from '../../src/watch/events.ts';
import { chooseStyle, type Log, type LogFields } from '../../src/watch/log.ts';
import { createLogView, createProgressLines, openProgressView } from '../../src/watch/views.ts';
import { summaryOf } from '../report/recordings.ts';
import { PROGRESS } from './progress.ts';

it('rows that are written are told of before the run is finished', () => {
  const written: LogFields[] = [];
  const log: Pick<Log, 'write'> = { write: (_, __, fields = {}) => void written.push(fields) };
  const view = createLogView(log as Log, 'auto');
  view.show({ type: 'writing', rows: 10 });
  view.show({ type: 'rows', written: 10, total: 10, elapsedMs: 1_000 });
  view.finish(summaryOf());
  view.end();
  expect(written).toMatchObject([
    { event: 'writing' },
    { event: 'rows', written: 10, total: 10 },
    { event: 'finished' },
  ]);
});

/** A view, and what it wrote. */
function open() {
  const written: string[] = [];
  const view = createProgressLines((line) => written.push(line));
  return { view, written };
}

describe('createProgressLines', () => {
  it('writes a line every few seconds, and the last state at the end', () => {
    const { view, written } = open();
    for (let elapsedMs = 0; elapsedMs <= 12_000; elapsedMs += 250) {
      view.show({ ...PROGRESS, elapsedMs, done: elapsedMs / 20, calls: elapsedMs / 20 });
    }
    view.end();
    view.end();
    expect(written).toEqual([
      '250/1,000 lookups, 50.0 calls/s, 15 s left',
      '500/1,000 lookups, 50.0 calls/s, 10 s left',
      '600/1,000 lookups, 50.0 calls/s, 8 s left',
    ]);
  });

  it('says why nothing moves', () => {
    const { view, written } = open();
    view.show({ ...PROGRESS, elapsedMs: 5_000, heldBy: 'another_run' });
    view.show({ ...PROGRESS, elapsedMs: 10_000, heldBy: 'no_worker' });
    view.show({ ...PROGRESS, elapsedMs: 15_000, isPaused: true });
    expect(written.map((line) => line.split(', ').at(-1))).toEqual([
      'waits for another run',
      'no worker',
      'paused',
    ]);
  });

  it.each([
    { isPaused: true },
    { outage: 'The API is out' },
    { waitMs: 12_000 },
    { pace: { why: 'probing' } },
    { pace: { why: 'backing_off' } },
  ])('waits for nothing when what is left is skipped: %j', ({ pace, ...wait }) => {
    const { view, written } = open();
    const rows = { ...PROGRESS.outcomes, total: 1_000, invalid: 0, fresh: 0, skipped: 400 };
    const limit = { limitIs: 'learned', ratePerSecond: 50, learnedLimitPerSecond: 50, waitMs: 0 };
    const described = { why: 'told_to_wait', ...limit, ...pace } as Progress['pace'];
    view.show({ ...PROGRESS, ...wait, rows, elapsedMs: 4_000, calls: 600, pace: described });
    view.end();
    expect(written).toEqual(['0/1,000 lookups, 150.0 calls/s, limit about 50/s']);
  });

  it('shows logos behind the lookups', () => {
    const { view, written } = open();
    view.show({ ...PROGRESS, done: 1_000, calls: 1_000, elapsedMs: 4_000 });
    for (let elapsedMs = 0; elapsedMs <= 6_000; elapsedMs += 500) {
      view.showLogos({ total: 1_200, saved: elapsedMs / 10, kept: 8, missing: 2, elapsedMs });
    }
    view.end();
    expect(written).toEqual([
      '1,000/1,000 lookups, 250.0 calls/s',
      '510/1,200 logos, 6.8 s left, 2 missing',
      '610/1,200 logos, 5.8 s left, 2 missing',
    ]);
  });

  it('shows the rows that are written in the end', () => {
    const { view, written } = open();
    view.show({ ...PROGRESS, done: 1_000, calls: 1_000, elapsedMs: 4_000 });
    for (let elapsedMs = 1_000; elapsedMs <= 7_000; elapsedMs += 500) {
      view.showRows({ written: elapsedMs * 86, total: 1_000_000, elapsedMs });
    }
    view.end();
    expect(written).toEqual([
      '1,000/1,000 lookups, 250.0 calls/s',
      '430,000/1,000,000 rows written, 43%',
      '602,000/1,000,000 rows written, 60%',
    ]);
  });

  it('tells of failures and of waits', () => {
    const { view, written } = open();
    view.show({
      ...PROGRESS,
      outcomes: { ...PROGRESS.outcomes, failed: 3 },
      waitMs: 30_000,
      elapsedMs: 5_000,
    });
    expect(written).toEqual(['0/1,000 lookups, 0.0 calls/s, 3 failed, told to wait 30 s']);
  });

  it.each([
    [
      {
        limitIs: 'learned',
        ratePerSecond: 48,
        learnedLimitPerSecond: 50,
        waitMs: 0,
        why: 'holding',
      },
      'limit about 50/s',
    ],
    [
      { limitIs: 'unknown', ratePerSecond: 90, concurrencyLimit: 10, waitMs: 0, why: 'open' },
      'at most 10 at once',
    ],
  ] as const)('says of the pace %j', (pace, said) => {
    const { view, written } = open();
    view.show({ ...PROGRESS, pace, elapsedMs: 5_000 });
    expect(written).toEqual([`0/1,000 lookups, 0.0 calls/s, ${said}`]);
  });

  it('says when the next call of a slow fixed rate is due', () => {
    const { view, written } = open();
    const pace = { limitIs: 'fixed', ratePerSecond: 0.05, waitMs: 0, why: 'holding' } as const;
    view.show({ ...PROGRESS, pace, waitMs: 17_000, elapsedMs: 5_000 });
    expect(written).toEqual(['0/1,000 lookups, 0.0 calls/s, next call in 17 s']);
  });

  it('says nothing where there is nothing to look up', () => {
    const { view, written } = open();
    view.show({ ...PROGRESS, lookups: 0 });
    view.end();
    expect(written).toEqual([]);
  });
});

it.each([
  ['auto', true, 'xterm-256color', 'bar'],
  ['auto', true, undefined, 'bar'],
  ['auto', true, 'dumb', 'lines'],
  ['auto', false, 'xterm-256color', 'lines'],
  ['bar', true, 'xterm', 'bar'],
  ['bar', true, 'dumb', 'lines'],
  ['bar', false, 'xterm', 'lines'],
  ['lines', true, 'xterm', 'lines'],
  ['none', true, 'xterm', 'none'],
] as const)(
  'wished for %s, on a terminal: %s, with TERM %s, it is %s',
  (wish, isTTY, TERM, style) => {
    expect(chooseStyle(wish, { isTTY, env: { TERM } })).toBe(style);
  },
);

it('shows nothing where nothing is wished', async () => {
  const written: string[] = [];
  const stream = { isTTY: true, write: (text: string) => written.push(text) > 0 };
  const view = await openProgressView('none', stream as unknown as NodeJS.WriteStream);
  view.show({ ...PROGRESS, elapsedMs: 60_000 });
  view.end();
  expect(written).toEqual([]);
});
