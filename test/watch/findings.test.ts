import { expect, it } from 'vitest';
import { describeFindings } from '../../src/watch/findings.ts';
import type { Limit } from '../../src/worker/pace-memory.ts';

it.each<[string, Limit, number]>([
  ['with a limit', { limitIs: 'learned', limitPerSecond: 5 }, 1],
  ['with a limit of calls at once', { limitIs: 'unknown', mostAtOnce: 4 }, 1],
  ['that met none after all', { limitIs: 'unknown' }, 0],
])('a run %s says how that was told, or nothing of it', (_, limit, count) => {
  const finding = { about: 'limit', httpStatus: 403, reason: 'http_403', share: 0.1 } as const;
  const said = describeFindings({ findings: [finding], limit, sameRecord: undefined }, [], 10);
  expect(said).toEqual(Array(count).fill('403 is how this API limits the rate of calls.'));
});
