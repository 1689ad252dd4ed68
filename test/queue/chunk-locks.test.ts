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
});
