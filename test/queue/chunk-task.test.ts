import { expect, it } from 'vitest';
import {
  type ChunkTaskOptions,
  createChunkTask,
  type TakenJob,
} from '../../src/queue/bullmq/chunks/chunk-task.ts';
import { createQuarantine } from '../../src/queue/bullmq/chunks/quarantine.ts';
import type { LookupsData } from '../../src/queue/bullmq/contract.ts';
import { runQueueName } from '../../src/queue/bullmq/names.ts';
import { withoutCall } from '../../src/queue/bullmq/outcome-data.ts';

/** Added again by a run that lost the reply of a Redis which was restarted, and collected meanwhile. */
it.each([0, 1])(
  'a chunk that its run strikes after %i looks is not looked up again',
  async (looks) => {
    const outcome = withoutCall('a.com', { status: 'failed', reason: '', nowMs: 0 });
    const lookedUp: string[] = [];
    let looked = 0;
    const isStruck = (): boolean => {
      looked += 1;
      return looked > looks;
    };
    const options: Partial<ChunkTaskOptions> = {
      handle: async ({ domains }) => void lookedUp.push(...domains),
      normalize: (domain) => ({ domain }),
      api: 'api',
      countCalls: async () => undefined,
      readLog: async () => ({
        outcomes: isStruck() ? [] : [{ data: outcome, shape: undefined }],
        isolatedAttempts: 0,
      }),
      findExpected: async (_, { domains }) => (isStruck() ? undefined : domains),
      log: {
        expireSoon: done,
        remove: done,
        letGo: () => {},
      } as unknown as ChunkTaskOptions['log'],
      sender: { send: async () => false } as unknown as ChunkTaskOptions['sender'],
      quarantine: createQuarantine(),
      paused: { watch: done, letGo: () => {}, has: () => false, close: () => {} },
      isStopping: () => false,
      onLeft: () => {},
      onNotice: () => {},
    };
    const data: LookupsData = { v: 1, domains: ['a.com'], replyTo: runQueueName('run') };
    const job = {
      id: 'run-chunk',
      data,
      opts: {},
      timestamp: 0,
      stalledCounter: 0,
      moveToCompleted: done,
    };
    const taken = { job, token: '', lock: { isOurs: () => true, release: () => {} } };
    await createChunkTask(options as ChunkTaskOptions)(taken as unknown as TakenJob);
    expect(lookedUp).toEqual([]);
  },
);

async function done(): Promise<void> {}
