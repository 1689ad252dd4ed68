import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createQuarantine } from '../../src/queue/bullmq/chunks/quarantine.ts';

describe('a chunk that may be to blame', () => {
  it('is alone also when another one was taken at the same time and begins after it', async () => {
    const quarantine = createQuarantine();
    const done: string[] = [];
    let end = (): void => {};
    const suspect = quarantine.exclusive(async () => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      done.push('suspect');
    });
    await nextTurn();
    const other = quarantine.shared(async () => {
      done.push('other');
    });
    await nextTurn();
    expect(done).toEqual([]);
    expect(quarantine.isFree).toBe(false);
    end();
    await Promise.all([suspect, other]);
    expect(done).toEqual(['suspect', 'other']);
    expect(quarantine.isFree).toBe(true);
  });
});
