import { type Job, Queue, Worker } from 'bullmq';
import { within } from '../../../common/within.ts';
import type { Reply } from '../../lookup-queue.ts';
import { createLogReader } from '../chunks/outcome-log.ts';
import type { OutcomesData } from '../contract.ts';
import { runQueueName } from '../names.ts';
import { toOutcome } from '../outcome-data.ts';
import type { RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';
import type { RunLedger } from './run-ledger.ts';

/** The replies of workers to a run. */
export interface RunReplies {
  /**
   * Takes the outcomes that workers have logged for a chunk, with or without a reply.
   *
   * @throws what storing them throws
   */
  readonly takeLogged: (chunk: string) => Promise<void>;
  /**
   * The error that kept outcomes from being stored. They are not acknowledged: the next run gets
   * them.
   */
  readonly failure: { readonly error: unknown } | undefined;
  /** When the last reply came, by `performance.now()`; initially, when this was opened. */
  readonly lastAtMs: number;
  /** @param isOver whether no more replies will come. Their queue is then removed from Redis. */
  close(isOver: boolean): Promise<void>;
}

export interface RunRepliesOptions {
  readonly redis: RedisServer;
  readonly ledger: RunLedger;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Called when outcomes are stored, or cannot be. */
  readonly onChange: () => void;
  /** Called with the reason when Redis refuses to hand replies over. */
  readonly onNotice: (message: string) => void;
}

/** Replies whose outcomes are written to the store at the same time. */
const REPLIES_AT_ONCE = 16;
/**
 * When a run is over, its last outcomes are stored. Only their acknowledgement may still be under
 * way. A connection may have lost it, which shows only after half a minute, so the wait is bounded.
 */
const LAST_REPLY_MS = 1_500;

export async function openRunReplies({
  redis,
  ledger,
  collect,
  onChange,
  onNotice,
}: RunRepliesOptions): Promise<RunReplies> {
  const name = runQueueName(ledger.runId);
  const traced = queueOptions(redis.client);
  const queue = new Queue<OutcomesData>(name, { connection: redis.client, ...traced });
  queue.on('error', () => {}); // errors of the connections are reported elsewhere
  const readLog = createLogReader(redis.client);
  let failure: RunReplies['failure'];
  let lastAtMs = performance.now();

  async function takeLogged(chunk: string): Promise<void> {
    const { outcomes } = await readLog(chunk);
    try {
      await collect(outcomes.map(({ data, shape }) => toOutcome(data, shape)));
    } catch (error) {
      failure ??= { error };
      onChange();
      throw error;
    }
  }

  async function take(job: Job<OutcomesData>): Promise<void> {
    lastAtMs = performance.now();
    const { chunk } = job.data;
    await takeLogged(chunk);
    onChange();
    await ledger.strike([chunk]);
  }

  // Replies that the earlier run had taken when it was killed would otherwise come only after their
  // locks expire.
  try {
    for (const job of await queue.getActive()) await take(job);
  } catch (error) {
    await queue.close();
    throw error;
  }
  // The queue has just been created.
  await ledger.touch().catch(() => {}); // the next beat will do

  const worker = new Worker<OutcomesData>(name, take, {
    connection: redis.connect(),
    ...traced,
    concurrency: REPLIES_AT_ONCE,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    removeOnComplete: { count: 0 },
    drainDelay: 1,
  });
  const refusals = createRefusals(onNotice, 'a run');
  worker.on('error', refusals.tell);
  worker.on('failed', (_, error) => refusals.tell(error)); // the watchdog takes care of it

  return {
    takeLogged,
    get failure() {
      return failure;
    },
    get lastAtMs() {
      return lastAtMs;
    },
    close: async (isOver) => {
      const stopped = worker.close();
      if (isOver) {
        await within(LAST_REPLY_MS, stopped);
        await queue.obliterate({ force: true });
      } else await stopped;
      await queue.close();
    },
  };
}
