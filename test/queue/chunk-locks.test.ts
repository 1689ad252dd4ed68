import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createChunkLocks } from '../../src/queue/bullmq/chunks/chunk-locks.ts';

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
    ['a clock was set back', [30_000, -3_600_000], false],
    ['the machine slept', [1, 30_000], false],
    ['neither was so', [29_999, 29_999], true],
  ])('count for as long as they last also where %s', (_, [passedMs = 0, onWallMs = 0], isOurs) => {
    const time = { ms: 0, onWallMs: Date.UTC(2026, 10, 20) };
    const locks = createChunkLocks({
      worker: {} as Worker,
      lockMs: 30_000,
      clocks: [() => time.ms, () => time.onWallMs],
    });
    onTestFinished(() => locks.close());
    const lock = locks.hold('a', 'first');
    time.ms += passedMs;
    time.onWallMs += onWallMs;
    expect(lock.isOurs()).toBe(isOurs);
  });
});
