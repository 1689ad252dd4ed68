import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { expect, onTestFinished } from 'vitest';
import type { OutcomeData, OutcomesData } from '../../../src/queue/bullmq/contract.ts';
import {
  OUTCOMES_JOB,
  OUTCOMES_OPTIONS,
  OUTCOMES_QUEUE,
  QUEUE_OPTIONS,
  replyId,
} from '../../../src/queue/bullmq/names.ts';
import { startRedis } from '../../support/redis.ts';
import type { Running } from './command.ts';
import { type Folder, openFolder } from './folder.ts';

/** A queue of outcomes, and a folder for a collector that takes them. */
export interface OutcomesQueue {
  readonly folder: Folder;
  readonly url: string;
  /** @param addedAtMs when their chunks were put on the queue of lookups */
  add(replies: readonly OutcomesData[], addedAtMs?: number): Promise<void>;
  /** Waits until every reply is acknowledged. */
  drained(): Promise<void>;
  isEmpty(): Promise<boolean>;
  /** Replies that a collector may take now. */
  waiting(): Promise<number>;
}

/** A folder and a Redis of the test's own. */
export async function openOutcomesQueue(): Promise<OutcomesQueue> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const queue = new Queue(OUTCOMES_QUEUE, { connection: { port: redis.port }, ...QUEUE_OPTIONS });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  const isEmpty = async (): Promise<boolean> => {
    const counts = await queue.getJobCounts();
    return Object.values(counts).every((count) => count === 0);
  };
  return {
    folder: openFolder(),
    url: redis.url,
    add: async (replies, addedAtMs = FETCHED_AT_MS) => {
      await queue.addBulk(
        replies.map((data) => ({
          name: OUTCOMES_JOB,
          data,
          opts: { ...OUTCOMES_OPTIONS, jobId: replyId(data.chunk, { addedAtMs, number: 0 }) },
        })),
      );
    },
    drained: async () => {
      while (!(await isEmpty())) await delay(20);
    },
    isEmpty,
    waiting: () => queue.getWaitingCount(),
  };
}

export const FETCHED_AT_MS = Date.UTC(2026, 10, 21, 8);

/** An outcome of `company-{number}.com`. */
export function outcome(number: number, more: Partial<OutcomeData> = {}): OutcomeData {
  return {
    domain: `company-${number}.com`,
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: FETCHED_AT_MS,
    json: `{"name":"Company ${number}"}`,
    ...more,
  };
}

/** A reply of a worker. */
export function reply(
  chunk: string,
  outcomes: readonly OutcomeData[],
  more: { readonly ref?: unknown } = {},
): OutcomesData {
  return { v: 1, chunk, outcomes, ...more };
}

/** Stops a collector in order. */
export async function stop(collector: Running): Promise<{ readonly stderr: string }> {
  collector.process.kill('SIGTERM');
  const ended = await collector.ended;
  expect(ended.code).toBe(0);
  return ended;
}

/** The names of the files that a collector has written. */
export function namesIn(folder: Folder): string[] {
  return readdirSync(folder.at('out'))
    .filter((name) => name !== '.collect')
    .sort();
}
