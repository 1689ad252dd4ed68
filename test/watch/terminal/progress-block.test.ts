import { expect, it } from 'vitest';
import { createProgressBlock } from '../../../src/watch/progress-block.ts';
import { PROGRESS } from '../progress.ts';
import { openScreen } from '../screen.ts';

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
