import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { z } from 'zod';
import { AnyDataWorker, isUnreadable, mendUnreadable } from '../any-data.ts';
import type { OutcomesData } from '../contract.ts';
import { KEPT_FAILURES, OUTCOMES_QUEUE } from '../names.ts';
import type { RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';

export interface ReceiveOutcomesOptions {
  readonly redis: RedisServer;
  /**
   * Stores a reply for good. The reply is acknowledged only then. If this rejects, the reply comes
   * again. A reply that is delivered twice has the same id.
   */
  readonly keep: (id: string, reply: OutcomesData) => Promise<void>;
  readonly onNotice: (message: string) => void;
}

/** Takes replies from the queue of outcomes. */
export interface OutcomeReceiver {
  /** Takes no more replies. Resolves when those taken are stored or refused. */
  stop(): Promise<void>;
}

/** Replies that are stored at the same time. They share the cost of writing to the disk. */
const REPLIES_AT_ONCE = 64;
/** Replies held by a receiver that was lost come again after this time. */
const LOCK_MS = 15_000;

const outcome = z.looseObject({
  domain: z.string(),
  given: z.string().optional(),
  status: z.enum(['found', 'not_found', 'rejected', 'failed', 'pending', 'invalid']),
  reason: z.string(),
  httpStatus: z.number().optional(),
  attempts: z.number(),
  fetchedAtMs: z.number().min(-8.64e15).max(8.64e15),
  json: z.string(),
});

const outcomes = z.looseObject({
  v: z.literal(1),
  chunk: z.string(),
  outcomes: z.array(outcome),
  error: z.string().optional(),
});

/** Receives the outcomes of chunks that name no queue of their own. */
export function receiveOutcomes(options: ReceiveOutcomesOptions): OutcomeReceiver {
  const { redis, keep, onNotice } = options;
  let isStopping = false;

  async function receive(job: Job<unknown>, token?: string): Promise<void> {
    const read = outcomes.safeParse(job.data);
    if (!read.success) {
      onNotice(
        `Job ${job.id} on the queue ${OUTCOMES_QUEUE} holds no outcomes and was left there as failed.`,
      );
      throw new UnrecoverableError('no outcomes');
    }
    const reply = read.data as OutcomesData;
    try {
      await keep(idOf(job), reply);
    } catch (error) {
      if (!isStopping) throw error;
      // Put back at once. A delayed job would come back by the clock of the next collector, and
      // this machine's clock may be ahead of it.
      await job.moveToWait(token);
      throw new WaitingError();
    }
  }

  const worker = new AnyDataWorker(OUTCOMES_QUEUE, receive, {
    connection: redis.connect(),
    ...queueOptions(redis.client),
    concurrency: REPLIES_AT_ONCE,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS / 5,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    drainDelay: 1,
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILURES,
  });
  const refusals = createRefusals(onNotice, 'the collector');
  worker.on('error', (thrown) => {
    refusals.tell(thrown);
    if (isUnreadable(thrown)) mend().catch(refusals.tell);
  });

  async function mend(): Promise<void> {
    const isOurs = (token: string): boolean => token.startsWith(`${worker.id}:`);
    const { client } = redis;
    for (const id of await mendUnreadable({ client, queue: OUTCOMES_QUEUE, isOurs })) {
      onNotice(`Job ${id} has options that cannot be read; it is accepted without them.`);
    }
  }

  return {
    stop: async () => {
      isStopping = true;
      await worker.close();
    },
  };
}

/**
 * The id of a reply. Replies of workers have unique ids. Jobs of other programs may be numbered,
 * and a Redis that has lost everything begins with 1 again, so the number alone is not unique.
 */
function idOf({ id = '', timestamp }: Job<unknown>): string {
  return /^\d+$/.test(id) ? `${id}@${timestamp}` : id;
}
