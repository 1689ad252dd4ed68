import { expect, it } from 'vitest';
import { createReadingTeller } from '../../src/watch/events.ts';

const LIST = { name: 'big.csv', sizeBytes: 2_000_000_000 };

it('says how far a long reading is, ever less often, until something else does', () => {
  const notices: string[] = [];
  let nowMs = 500;
  const teller = createReadingTeller({
    onNotice: (message) => notices.push(message),
    now: () => nowMs,
  });
  for (const seconds of [1, 9.9, 10, 11, 19, 20, 39, 41, 100]) {
    nowMs = 500 + seconds * 1_000;
    const fileBytes = seconds * 10_000_000;
    teller.onRead({ ...LIST, fileBytes, plainBytes: fileBytes });
    if (seconds === 41) teller.end();
  }
  expect(notices).toEqual([
    'Reading big.csv: 5% of it, 100 MB so far.',
    'Reading big.csv: 10% of it, 200 MB so far.',
    'Reading big.csv: 20% of it, 410 MB so far.',
  ]);
});
