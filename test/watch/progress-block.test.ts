import { expect, it } from 'vitest';
import { createProgressBlock, createWorkerBlock } from '../../src/watch/progress-block.ts';
import { PROGRESS } from './progress.ts';
import { openScreen } from './screen.ts';

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
