import { describe, expect, it } from 'vitest';
import { createPatience } from '../../src/queue/bullmq/server/patience.ts';

describe('patience with Redis', () => {
  it('ends with the signal also while Redis answers nothing at all', async () => {
    const giveUp = new AbortController();
    const insisting = createPatience(() => {}).insist(() => new Promise(() => {}), giveUp.signal);
    giveUp.abort(new Error('given up'));
    await expect(insisting).rejects.toThrow('given up');
  });
});
