import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOtherApis } from '../../src/queue/bullmq/chunks/take-chunks.ts';
import { doneKey, ledgerKey } from '../../src/queue/bullmq/names.ts';
import {
  type HoldBack,
  holdBackWhilePaused,
  watchPausedRuns,
} from '../../src/queue/bullmq/runs/pauses.ts';
import { readLeft } from '../../src/queue/bullmq/runs/run-ledger.ts';
import { type RedisClient } from '../../src/queue/bullmq/server/redis.ts';
import { createGate } from '../support/gate.ts';

/** Else all its domains would be paid for twice. */
it.each([0, 1, 2])(
  'a chunk that is finished after %i of the commands that read it is not looked up again',
  async (commands) => {
    let read = 0;
    const values = new Map([
      [`${ledgerKey('run')} chunk`, '["a.com"]'],
      [doneKey('chunk'), 'a.com\n'],
    ]);
    const reading = async (key: string): Promise<string | null> => {
      if (read === commands) values.clear();
      read += 1;
      return values.get(key) ?? null;
    };
    const client = {
      get: reading,
      hget: (key: string, field: string) => reading(`${key} ${field}`),
    };
    const left = await readLeft(client as unknown as RedisClient, 'run', 'chunk');
    expect(left ?? []).toEqual([]);
  },
);

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
    returnToRun: async () => {
      waiting.push(listeners.size);
      if (waiting.length === 5) looked.open();
      return [];
    },
    give: async () => {},
    claimAgain: (domains) => domains,
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

const API = 'http://127.0.0.1:1';

function create(servedApis: ReadonlySet<string>) {
  const time = { ms: 0 };
  const left: string[] = [];
  const otherApis = createOtherApis({
    isServed: async (api) => servedApis.has(api),
    onLeft: (api) => left.push(api),
    nowMs: () => time.ms,
  });
  return { otherApis, time, left };
}

describe('chunks for another API', () => {
  it('are left to the workers that ask it, which is said once', async () => {
    const { otherApis, time, left } = create(new Set([API]));
    for (const ms of [0, 10_000, 60_000]) {
      time.ms = ms;
      expect(await otherApis.mayRefuse('a', API)).toBe(false);
    }
    expect(left).toEqual([API]);
  });

  it('are refused when no worker asks it for some seconds', async () => {
    const { otherApis, time } = create(new Set());
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 4_999;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 5_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(true);
  });

  it('are left to one that was away for a moment', async () => {
    const served = new Set<string>();
    const { otherApis, time } = create(served);
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    served.add(API);
    time.ms = 3_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    served.delete(API);
    time.ms = 6_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
  });

  it('are left again to one that is away for a moment, long after it was away before', async () => {
    const { otherApis, time } = create(new Set());
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 60_000;
    expect(await otherApis.mayRefuse('b', API)).toBe(false);
    time.ms = 65_000;
    expect(await otherApis.mayRefuse('c', API)).toBe(true);
  });

  it('are refused also by a worker that comes to look only once in a while', async () => {
    const { otherApis, time } = create(new Set());
    const seen: boolean[] = [];
    for (const chunk of ['a', 'b', 'a', 'b']) {
      seen.push(await otherApis.mayRefuse(chunk, API));
      time.ms += 60_000;
    }
    expect(seen).toEqual([false, false, true, true]);
  });
});
