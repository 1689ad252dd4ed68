import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isRunning, statOf } from '../../src/common/owner.ts';
import { announceWorker } from '../../src/queue/bullmq/chunks/heartbeats.ts';
import { createChunkLeases } from '../../src/queue/bullmq/chunks/leases.ts';
import { watchQueuePause } from '../../src/queue/bullmq/queues.ts';
import { watchPausedRuns } from '../../src/queue/bullmq/runs/pauses.ts';
import { announceRun } from '../../src/queue/bullmq/runs/run-board.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const NEVER = new Promise<never>(() => {});

/** A Redis that is away: each command waits, and is counted. */
function createAway(): { readonly client: RedisClient; readonly waiting: () => number } {
  let waiting = 0;
  const wait = (): Promise<never> => {
    waiting += 1;
    return NEVER;
  };
  const chain: object = new Proxy({}, { get: (_, name) => (name === 'exec' ? wait : () => chain) });
  const isChain = (name: string | symbol): boolean => name === 'multi' || name === 'pipeline';
  const client = new Proxy({}, { get: (_, name) => (isChain(name) ? () => chain : wait) });
  return { client: client as unknown as RedisClient, waiting: () => waiting };
}

it.each<[string, (client: RedisClient) => { close(): unknown }]>([
  [
    'a worker',
    (client) =>
      announceWorker(client, {
        id: 'a',
        describe: () => ({ host: '', pid: 1, api: '', concurrency: 1, holds: [] }),
      }),
  ],
  ['a run', (client) => announceRun(client, { id: 'a', describe: () => '', onAsked: () => {} })],
  [
    'the look for a pause of the queue',
    (client) => watchQueuePause({ client, queue: 'lookups', onNotice: () => {} }),
  ],
  [
    'the look for runs that are paused',
    (client) => {
      const paused = watchPausedRuns(client);
      void paused.watch('a');
      return paused;
    },
  ],
  [
    'the renewal of chunks',
    (client) => {
      const worker = { extendJobLocks: () => client.ping() } as unknown as Worker;
      const locks = createChunkLeases({ worker, leaseMs: 15_000 });
      locks.acquire('a', 'token');
      return locks;
    },
  ],
])(
  'while Redis is away for an hour, %s leaves no more commands waiting than one beat',
  async (_, start) => {
    const { client, waiting } = createAway();
    const { close } = start(client);
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(waiting()).toBeLessThanOrEqual(4);
    void close();
  },
);

function nameOf(pid = 0): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}

describe('a process', () => {
  it('runs when it is this one', () => {
    expect(isRunning(process.pid)).toBe(true);
  });

  it('does not run when it has ended', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    expect(isRunning(child.pid ?? 0)).toBe(false);
  });

  it('does not run when it has ended and its parent takes no note of that', async () => {
    // The shell becomes a program that knows nothing of the child that the shell had. Only then that ends.
    const parent = spawn('sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60']);
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line);
    await expect.poll(() => nameOf(parent.pid)).toBe('sleep');
    expect(isRunning(pid)).toBe(true);
    parent.stdin.end();
    await expect.poll(() => statOf(pid)[0]).toBe('Z');
    expect(process.kill(pid, 0)).toBe(true);
    expect(isRunning(pid)).toBe(false);
  });
});
