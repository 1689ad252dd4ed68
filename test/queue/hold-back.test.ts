import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type HoldBack, holdBackWhilePaused } from '../../src/queue/bullmq/runs/pauses.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';
import { createGate } from '../support/gate.ts';

/** A run that is paused, and what is seen of it. */
function holdPaused(): {
  holdBack: HoldBack;
  listeners: Set<() => void>;
  /** How many waited for a change at each look. */
  waiting: number[];
  lookedOften: Promise<void>;
  unmarked: () => number;
} {
  const listeners = new Set<() => void>();
  const waiting: number[] = [];
  const looked = createGate();
  let unmarked = 0;
  const del = async (): Promise<number> => {
    unmarked += 1;
    await nextTurn();
    return 1;
  };
  const holdBack = holdBackWhilePaused({
    client: { set: async () => 'OK', del } as unknown as RedisClient,
    ledger: { runId: 'a' },
    control: {
      isPaused: true,
      onChange: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    withdraw: async () => {
      waiting.push(listeners.size);
      if (waiting.length === 5) looked.open();
      return [];
    },
    give: async () => {},
    retake: (domains) => domains,
    drop: () => {},
    signal: new AbortController().signal,
    lookMs: 1,
  });
  return { holdBack, listeners, waiting, lookedOften: looked.opened, unmarked: () => unmarked };
}

it('a run that is paused for long has no more who wait for it to go on than at first', async () => {
  const { holdBack, waiting, lookedOften } = holdPaused();
  onTestFinished(() => holdBack.close());
  await lookedOften;
  expect(waiting.slice(0, 5)).toEqual([1, 1, 1, 1, 1]);
});

it('a run that ends while it is paused leaves nothing going', async () => {
  const { holdBack, unmarked, listeners } = holdPaused();
  await holdBack.close();
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect([holdBack.isHolding, unmarked(), listeners.size]).toEqual([false, 1, 0]);
});
