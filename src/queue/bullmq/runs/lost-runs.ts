import { setMaxListeners } from 'node:events';
import type { Reply } from '../../lookup-queue.ts';
import type { RedisServer } from '../server/redis.ts';
import { areChunksOut, claimLostRun } from './run-ledger.ts';
import { openRunQueue, type RunQueueOptions } from './run-queue.ts';

export interface LostRunsOptions
  extends Pick<RunQueueOptions, 'api' | 'concurrency' | 'normalize' | 'onNotice'> {
  readonly redis: RedisServer;
  /** Returns a function that stores outcomes and removes their domains from the set. */
  readonly collectInto: (outstanding: Set<string>) => Reply;
  /** Fires when this run is stopped. */
  readonly signal: AbortSignal;
}

/** Ends what lost runs have on the queue. */
export interface LostRuns {
  /** @returns whether nothing of the run is left. False while another run has it. */
  readonly end: (runId: string) => Promise<boolean>;
  /** Leaves the rest to other runs. */
  close(): Promise<void>;
}

/**
 * Workers go on with the chunks of a run that was killed. A run that wants the same domains stops
 * the killed run in its place: outcomes are stored, and chunks that no worker has begun are taken
 * back.
 */
export function createLostRuns(options: LostRunsOptions): LostRuns {
  const { redis, collectInto, signal, onNotice } = options;
  const over = new AbortController();
  const giveUp = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, giveUp);
  const going = new Set<Promise<boolean>>();

  async function end(runId: string): Promise<boolean> {
    const ledger = await claimLostRun(redis.client, runId, onNotice);
    if (!ledger) return !(await areChunksOut(redis.client, runId));
    const outstanding = new Set<string>();
    const queue = await openRunQueue({
      ...options,
      name: runId,
      ledger,
      outstanding,
      collect: collectInto(outstanding),
      onInherited: () =>
        onNotice('Another run was lost and left lookups on the queue: this run takes them over.'),
      window: 0,
      signal: AbortSignal.abort(),
      giveUp,
    });
    try {
      await queue.settled();
    } finally {
      await queue.close();
    }
    return outstanding.size === 0;
  }

  return {
    end: async (runId) => {
      if (giveUp.aborted) return false;
      const ended = end(runId);
      going.add(ended);
      try {
        return await ended;
      } finally {
        going.delete(ended);
      }
    },
    close: async () => {
      over.abort();
      await Promise.allSettled(going);
    },
  };
}
