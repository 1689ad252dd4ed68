import { expect, it } from 'vitest';
import { nextFile, type PartState } from '../../../src/collector/backfill/journal.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 8, 30);
const last: PartState = { hour: '2026-11-21T08', number: 3, bytes: 70, lines: 1, isOpen: false };

it.each([
  ['the first of an hour has no file before it', undefined, 1],
  ['the first of an hour comes after one of another hour', { ...last, hour: '2026-11-21T07' }, 1],
  ['one comes after another', last, 4],
  // In a folder that cannot be written to, one is begun every second.
  ['one that was begun and never written takes no number', { ...last, bytes: 0, lines: 0 }, 3],
])('%s', (_, before, number) => {
  expect(nextFile(before, NOW_MS)).toEqual({ hour: '2026-11-21T08', number });
});
