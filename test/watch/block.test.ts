import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPaint, type Paint } from '../../src/watch/block.ts';
import type { Progress } from '../../src/watch/events.ts';
import {
  createLiveBlock,
  createLookupsBlock,
  createProgressBlock,
  createWorkerBlock,
  type Frame,
} from '../../src/watch/progress-block.ts';
import { PROGRESS } from './progress.ts';
import { openScreen, type ScreenOptions } from './screen.ts';

/** Three lines, each as long as the window is wide. */
const wide =
  (name: string): Frame =>
  (columns) =>
    ['a', 'b', 'c'].map((line) => `${name}${line}`.padEnd(columns, '.'));

const seenAt = (name: string, columns: number): readonly string[] => ['', ...wide(name)(columns)];

const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';

function openBlock(options?: ScreenOptions) {
  const screen = openScreen(options);
  return { ...screen, block: createLiveBlock(screen.terminal, screen.host) };
}

describe('createLiveBlock', () => {
  it('draws each time in the same place', async () => {
    const { block, terminal, lines } = openBlock();
    terminal.write('before\n');
    for (const name of ['1', '2', '3']) block.draw(wide(name));
    expect(await lines()).toEqual(['before', ...seenAt('3', 80)]);
  });

  it('draws fewer and more lines', async () => {
    const { block, lines } = openBlock();
    block.draw(wide('1'));
    block.draw(() => ['one']);
    expect(await lines()).toEqual(['', 'one']);
    block.draw(wide('2'));
    expect(await lines()).toEqual(seenAt('2', 80));
  });

  it('stays below what is written meanwhile, also at the bottom of the screen', async () => {
    const { block, terminal, lines } = openBlock({ rows: 8 });
    const notes = Array.from({ length: 30 }, (_, at) => `note ${at}:${'-'.repeat(at * 5)}`);
    for (const note of notes) {
      terminal.write(Buffer.from(`${note.slice(0, 79)}\n`));
      block.draw(wide('1'));
    }
    expect(await lines()).toEqual([...notes.map((note) => note.slice(0, 79)), ...seenAt('1', 80)]);
  });

  it('waits for the end of a line that somebody has begun', async () => {
    const { block, terminal, lines } = openBlock();
    block.draw(wide('1'));
    terminal.write('half ');
    block.draw(wide('2'));
    expect(await lines()).toEqual(['half']);
    terminal.write('a line\n');
    expect(await lines()).toEqual(['half a line', ...seenAt('2', 80)]);
    terminal.write('no end');
    block.end();
    expect(await lines()).toEqual(['half a line', 'no end', ...seenAt('2', 80)]);
  });

  describe.each([true, false])('in a window whose lines are wrapped anew: %s', (wrapsAnew) => {
    it.each([
      ['in the middle of the screen', 4],
      ['at its bottom', 40],
    ])('leaves nothing behind %s when the window has another width', async (_, notes) => {
      const { block, terminal, resize, lines } = openBlock({ wrapsAnew });
      // Short, so that only the block would be wrapped.
      const written = Array.from({ length: notes }, (_, at) => `note ${at}`);
      for (const note of written) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      for (const columns of [60, 59, 30, 20, 120, 21, 200, 80]) {
        await resize({ columns });
        expect(await lines()).toEqual([...written, ...seenAt('1', columns)]);
      }
    });

    it('leaves nothing behind when so low a window has room for its beginning only', async () => {
      const { block, terminal, resize, lines } = openBlock({ wrapsAnew });
      const notes = Array.from({ length: 40 }, (_, at) => `note ${at}`);
      for (const note of notes) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      await resize({ rows: 2 });
      await resize({ rows: 12 });
      terminal.write('more\n');
      expect(await lines()).toEqual([...notes, 'more', ...seenAt('1', 80)]);
    });

    it('leaves nothing behind when the window is lower or higher', async () => {
      const { block, resize, lines } = openBlock({ wrapsAnew });
      block.draw(wide('1'));
      await resize({ rows: 3 });
      expect(await lines()).toEqual(seenAt('1', 80).slice(0, 2));
      await resize({ rows: 30 });
      expect(await lines()).toEqual(seenAt('1', 80));
    });
  });

  it.each([30, 79, 120])(
    'may be drawn in tmux before it tells of its new width: %i',
    async (columns) => {
      const env = { TERM: 'tmux-256color' };
      const { block, terminal, resize, lines } = openBlock({ env, wrapsAnew: false, rows: 8 });
      const notes = Array.from({ length: 10 }, (_, at) => `note ${at}`);
      for (const note of notes) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      await resize({ columns }, () => block.draw(wide('2')));
      expect(await lines()).toEqual([...notes, ...seenAt('2', columns)]);
      block.end();
      terminal.write(`${'x'.repeat(columns)}y\n`); // is wrapped again
      expect((await lines()).at(-1)).toBe('y');
    },
  );

  it('draws nothing while the window changes its size', async () => {
    const { block, terminal, take } = openBlock();
    block.draw(wide('1'));
    take();
    terminal.emit('resize');
    block.draw(wide('2'));
    expect(take()).toBe('');
    block.end();
  });

  it('is not torn by what is typed', async () => {
    const { block, show, lines } = openBlock();
    block.draw(wide('1'));
    show('^C');
    block.draw(wide('2'));
    show('\r\n');
    block.draw(wide('3'));
    expect((await lines()).filter((line) => line !== '')).toEqual(wide('3')(80));
  });

  it('takes a terminal of no size for one of 80 columns', async () => {
    const { block, terminal, lines } = openBlock();
    Object.assign(terminal, { columns: 0, rows: 0 });
    block.draw(wide('1'));
    expect(await lines()).toEqual(seenAt('1', 80));
  });

  it('hides the cursor, and in the end shows it below the last state', async () => {
    const { block, terminal, take, lines } = openBlock();
    block.draw(wide('1'));
    expect(take()).toContain(HIDE);
    block.end();
    block.end();
    expect(take().endsWith(SHOW)).toBe(true);
    terminal.write('after\n');
    expect(await lines()).toEqual([...seenAt('1', 80), 'after']);
  });

  it.each(['exit', 'uncaughtExceptionMonitor'])('ends at %s', (event) => {
    const { block, host, take } = openBlock();
    block.draw(wide('1'));
    host.emit(event);
    expect(take().endsWith(SHOW)).toBe(true);
  });

  it('makes way for the shell at Ctrl-Z, and is drawn below it when it goes on', async () => {
    const { block, host, show, lines } = openBlock();
    block.draw(wide('1'));
    host.emit('SIGTSTP');
    show('[1]+  Stopped\n$ fg\n');
    block.draw(wide('2'));
    expect(await lines()).toEqual([
      ...seenAt('1', 80),
      '[1]+  Stopped',
      '$ fg',
      ...seenAt('2', 80),
    ]);
  });

  it('leaves the stream and the process as they were', () => {
    const { block, terminal, host } = openBlock();
    const { write } = terminal;
    block.draw(wide('1'));
    block.end();
    expect(terminal.write).toBe(write);
    expect([...terminal.eventNames(), ...host.eventNames()]).toEqual([]);
  });
});

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
      'The API throttles calls (429 and the like): backing off',
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

  it('says what was billed beside the calls, of two APIs each in its unit', () => {
    const bill = { units: 1_234.5, unit: 'credits' };
    expect(linesOf({ ...MIDDLE, bill }, 80)[2]).toBe(
      '48 calls/s, 1,234.5 credits, limit about 50/s, about 13 min left',
    );
    const apis = [
      { name: 'acme', done: 9, calls: 9, bill },
      { name: 'free', done: 9, calls: 9 },
      { name: 'bolt', done: 1, calls: 1, bill: { units: 3, unit: 'tokens' } },
    ];
    expect(linesOf({ ...MIDDLE, apis }, 100)[2]).toBe(
      '48 calls/s, acme 1,234.5 credits, bolt 3 tokens, limit about 50/s, about 13 min left',
    );
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
      { numRuns: 60 },
    );
  });
});

it('the lookups stay to be seen above the rows that are written', async () => {
  const { terminal, host, lines } = openScreen({ columns: 80 });
  const view = createProgressBlock(terminal, host);
  view.show({ ...PROGRESS, done: 1_000, calls: 1_000, elapsedMs: 4_000 });
  view.showRows({ written: 410_000, total: 1_000_000, elapsedMs: 2_000 });
  view.showRows({ written: 430_000, total: 1_000_000, elapsedMs: 2_250 });
  view.end();
  const shown = (await lines()).filter((line) => line !== '');
  expect(shown[0]).toMatch(/^█+ {2}100% {2}1,000 of 1,000 lookups$/);
  expect(shown.at(-1)).toMatch(/^█+░+ {2}43% {2}430,000 of 1,000,000 rows written$/);
  expect(shown.filter((line) => line.includes('written'))).toHaveLength(1);
});

const OUTCOMES = { found: 900, not_found: 90, rejected: 0, failed: 10, pending: 0 };

it('shows what lookups came to, how fast it goes, and why calls wait', async () => {
  const { terminal, host, lines, resize, take } = openScreen({ columns: 60, hasColors: true });
  const block = createWorkerBlock(terminal, host);
  const pace = { limitIs: 'fixed', ratePerSecond: 50, waitMs: 0, why: 'holding' } as const;
  block.show({ ...PROGRESS, pace });
  expect(await lines()).toEqual(['', '0 found', '0 calls/s, held to 50/s']);
  const outage = 'The API has been out for 20 s; one call tries again in 5 s.';
  block.show({ ...PROGRESS, outcomes: OUTCOMES, calls: 200, elapsedMs: 5_000, pace, outage });
  const counts = '900 found, 90 not found, 10 failed';
  expect(await lines()).toEqual(['', counts, '40 calls/s, held to 50/s', outage]);
  expect(take()).toContain(`\u001b[33m${outage}`);
  await resize({ columns: 20 });
  expect(await lines()).toEqual([
    '',
    '900 found, 10 failed',
    '40 calls/s, of 50/s',
    'The API is out',
  ]);
  block.end();
  terminal.write('Stopped.\n');
  expect((await lines()).slice(-2)).toEqual(['The API is out', 'Stopped.']);
});
