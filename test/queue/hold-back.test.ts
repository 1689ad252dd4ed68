import { expect, it, onTestFinished } from 'vitest';
import { holdBackWhilePaused } from '../../src/queue/bullmq/runs/hold-back.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';
import { createGate } from '../support/gate.ts';

it('a run that is paused for long has no more who wait for it to go on than at first', async () => {
  const listeners = new Set<() => void>();
  const control = {
    isPaused: true,
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const waiting: number[] = [];
  const looked = createGate();
  const holdBack = holdBackWhilePaused({
    client: { set: async () => 'OK', del: async () => 1 } as unknown as RedisClient,
    ledger: { runId: 'a' },
    control,
    withdraw: async () => {
      waiting.push(listeners.size);
      if (waiting.length === 5) looked.open();
      return [];
    },
    give: async () => {},
    drop: () => {},
    signal: new AbortController().signal,
    lookMs: 1,
  });
  onTestFinished(() => holdBack.close());
  await looked.opened;
  expect(waiting.slice(0, 5)).toEqual([1, 1, 1, 1, 1]);
  control.isPaused = false;
  for (const listener of listeners) listener();
});
