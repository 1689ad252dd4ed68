import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { watchPausedRuns } from '../../src/queue/bullmq/runs/pauses.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';
import { createGate } from '../support/gate.ts';

it('who comes while it is being found out whether a run is paused waits for the answer', async () => {
  const answer = createGate();
  const exec = async (): Promise<unknown> => {
    await answer.opened;
    return [[null, 1]];
  };
  const client = { pipeline: () => ({ exists: () => {}, exec }) } as unknown as RedisClient;
  const paused = watchPausedRuns(client);
  onTestFinished(() => paused.close());
  const first = paused.watch('a');
  const second = paused.watch('a').then(() => paused.has('a'));
  await nextTurn();
  answer.open();
  await first;
  expect(await second).toBe(true);
});
