import { describe, expect, it } from 'vitest';
import { judgeChunk } from '../../src/queue/bullmq/chunks/chunk-verdict.ts';

describe('judgeChunk', () => {
  it.each([
    ['a new chunk', { domains: 50 }, 'look_up'],
    ['one that has lost two workers', { domains: 50, lostWorkers: 2 }, 'look_up'],
    ['one that has lost three', { domains: 50, lostWorkers: 3 }, 'cut'],
    ['a half of one', { domains: 25, isSuspect: true }, 'look_up_alone'],
    [
      'a half that lost its worker alone',
      { domains: 25, isSuspect: true, isolatedAttempts: 1 },
      'cut',
    ],
    ['a single domain', { domains: 1 }, 'look_up'],
    ['one that has lost three workers', { domains: 1, lostWorkers: 3 }, 'look_up_alone'],
    ['a suspect one', { domains: 1, isSuspect: true, isolatedAttempts: 2 }, 'look_up_alone'],
    ['one that lost three alone', { domains: 1, isSuspect: true, isolatedAttempts: 3 }, 'give_up'],
    ['a chunk that is known by now', { domains: 0, isSuspect: true, lostWorkers: 9 }, 'look_up'],
  ] as const)('of %s', (_, record, verdict) => {
    const clean = { isSuspect: false, lostWorkers: 0, isolatedAttempts: 0 };
    expect(judgeChunk({ ...clean, ...record })).toBe(verdict);
  });
});
