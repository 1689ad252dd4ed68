import { describe, expect, it } from 'vitest';
import { createRetrier } from '../../src/queue/bullmq/server/refusals.ts';

describe('patience with Redis', () => {
  it('ends with the signal also while Redis answers nothing at all', async () => {
    const giveUp = new AbortController();
    const insisting = createRetrier(() => {}).retryUntilAborted(
      () => new Promise(() => {}),
      giveUp.signal,
    );
    giveUp.abort(new Error('given up'));
    await expect(insisting).rejects.toThrow('given up');
  });

  it('ends with the reason of the signal also while it waits to try again', async () => {
    const giveUp = new AbortController();
    const reason = new Error('given up');
    const patience = createRetrier(() => giveUp.abort(reason));
    const refused = async (): Promise<never> => {
      throw new Error('OOM');
    };
    await expect(patience.retryUntilAborted(refused, giveUp.signal)).rejects.toBe(reason);
  });
});
