import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createChunkLocks } from '../../src/queue/bullmq/chunks/leases.ts';
import { shiftClock } from '../support/shift-clock.ts';

describe('the claims on chunks', () => {
  it('keep the later of two on one chunk alive when the earlier is given up', async () => {
    const renewed: string[] = [];
    const worker = {
      extendJobLocks: async (_: readonly string[], tokens: readonly string[]) => {
        renewed.push(...tokens);
        return [];
      },
    } as unknown as Worker;
    const locks = createChunkLocks({ worker, lockMs: 30 });
    onTestFinished(() => locks.close());
    const lost = locks.hold('a', 'first');
    const again = locks.hold('a', 'second');
    lost.release();
    while (renewed.length < 3) await delay(5);
    expect(new Set(renewed)).toEqual(new Set(['second']));
    again.release();
  });

  it.each([
    [30_000, false],
    [29_999, true],
  ])('last for as long as they were renewed for: after %i of 30,000 ms, %s', (passedMs, isOurs) => {
    const time = { ms: 0 };
    const locks = createChunkLocks({ worker: {} as Worker, lockMs: 30_000, nowMs: () => time.ms });
    onTestFinished(() => locks.close());
    const lock = locks.hold('a', 'first');
    time.ms += passedMs;
    expect(lock.isOurs()).toBe(isOurs);
  });

  it.each([20_000, -3_600_000])('are none of the wall clock: it is set by %i ms', (byMs) => {
    const locks = createChunkLocks({ worker: {} as Worker, lockMs: 15_000 });
    onTestFinished(() => locks.close());
    const lock = locks.hold('a', 'first');
    shiftClock(byMs);
    expect(lock.isOurs()).toBe(true);
  });
});
