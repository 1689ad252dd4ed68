import { setMaxListeners } from 'node:events';
import type { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { type CallLedger, RUN_WINDOW } from '../../../src/calls/budget.ts';
import type { Chunk, Reply } from '../../../src/calls/lookup-queue.ts';
import { type CallsMade, createCallCounters, type Outcome } from '../../../src/calls/outcome.ts';
import type { OutcomesData } from '../../../src/queue/contract.ts';
import { streamKey } from '../../../src/queue/names.ts';
import { openQueue, openQueueServer, type RedisServer } from '../../../src/queue/redis.ts';
import { openRunQueue, type RunQueue, type RunQueueOptions } from '../../../src/queue/run-queue.ts';
import { JobTaker, type TakeJobsOptions } from '../../../src/queue/take-jobs.ts';
import { type TestRedis, useDatabase } from '../../support/redis.ts';

/** The queue of the API that nobody asks here. */
export const QUEUE = 'api.test';
const never = new AbortController().signal;
setMaxListeners(0, never);

/** A Redis for parts of the queue in this process. All that is opened ends with the test. */
export interface Stage {
  readonly redis: RedisServer;
  /** Connects once more, for somebody who is killed: then the connection is closed. */
  connect(): Promise<RedisServer>;
  readonly queue: Queue;
  /** What was said to people. */
  readonly notices: readonly string[];
  /** Takes jobs, and answers each domain as found, unless told otherwise. */
  worker(options?: Partial<TakeJobsOptions>): JobTaker;
  run(options?: Partial<RunQueueOptions>): Promise<TestRun>;
  /** The entries of a stream. */
  entries(stream: string): Promise<readonly OutcomesData[]>;
}

export interface TestRun {
  readonly queue: RunQueue;
  readonly outstanding: Set<string>;
  /** The domains whose outcomes were collected, in their order. */
  readonly collected: readonly string[];
  readonly made: CallsMade;
  readonly usedUp: readonly string[];
  add(domains: readonly string[]): Promise<void>;
  /** Stops it as Ctrl-C does. */
  stop(): void;
}

/** An outcome as a worker has it. */
export function found(domain: string): Outcome {
  const json = JSON.stringify({ name: domain });
  return { domain, status: 'found', reason: '', attempts: 1, fetchedAtMs: 1, json } as Outcome;
}

/** Answers all domains of a chunk, one by one, as far as they are wanted. */
export async function answerAll(
  { domains }: Chunk,
  reply: Reply,
  isWanted: (domain: string) => boolean = () => true,
): Promise<void> {
  for (const domain of domains) if (isWanted(domain)) await reply([found(domain)]);
}

/** What a store counts, in memory. */
export function ledgerOf(most: number, each: number | undefined = 1) {
  let [taken, known] = [0, each];
  const ledger: CallLedger = {
    take: async (domains, told) => {
      if (told !== undefined) known = Math.max(told, known ?? 0);
      const left = Math.max(0, most - taken);
      const count = known === undefined ? left : Math.min(left, domains * known);
      taken += count;
      return { count, each: known, window: RUN_WINDOW, nowMs: 0 };
    },
    read: async () => ({ taken, window: RUN_WINDOW }),
    giveBack: async (count) => void (taken -= count),
  };
  return { ledger, taken: () => taken };
}

/**
 * @param own a Redis whose settings the test changes.
 * @default a database of one that tests share
 */
export async function openStage(own?: TestRedis): Promise<Stage> {
  const { url } = own ?? (await useDatabase());
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  const connect = async (): Promise<RedisServer> => {
    const server = await openQueueServer({ url, onNotice: () => {} });
    onTestFinished(() => server.close());
    return server;
  };
  const redis = await connect();
  const queue = openQueue(redis.client, QUEUE);
  onTestFinished(() => queue.close());
  const shared = {
    redis,
    api: 'http://api.test',
    queue: QUEUE,
    concurrency: 4,
    useful: () => 16,
    callsMade: () => 0,
    onNotice,
  };
  return {
    redis,
    connect,
    queue,
    notices,
    worker: (options = {}) => {
      const taker = new JobTaker({
        ...shared,
        handle: answerAll,
        maxPendingMs: 60_000,
        signal: never,
        ...options,
      });
      onTestFinished(() => taker.stop());
      return taker;
    },
    run: async (options = {}) => {
      const [outstanding, stopping] = [new Set<string>(), new AbortController()];
      const [collected, usedUp]: [string[], string[]] = [[], []];
      const made = createCallCounters();
      const opened = await openRunQueue({
        ...shared,
        run: 'run',
        isNamed: true,
        counting: {},
        bounds: [],
        collect: async (outcomes) => {
          for (const { domain } of outcomes) if (outstanding.delete(domain)) collected.push(domain);
        },
        outstanding,
        window: () => 1_000,
        onMade: (now) => void Object.assign(made, now),
        onUsedUp: (bound) => void usedUp.push(bound),
        onOver: () => {},
        isInterrupted: () => false,
        signal: stopping.signal,
        giveUp: never,
        ...options,
      });
      onTestFinished(() => opened.close());
      return {
        queue: opened,
        outstanding,
        collected,
        made,
        usedUp,
        add: async (domains) => {
          for (const domain of domains) outstanding.add(domain);
          await opened.add({ domains });
        },
        stop: () => stopping.abort(),
      };
    },
    entries: async (stream) => {
      const raw = await redis.client.xrange(streamKey(stream), '-', '+');
      return raw.map(([, [, text = '']]) => JSON.parse(text) as OutcomesData);
    },
  };
}
