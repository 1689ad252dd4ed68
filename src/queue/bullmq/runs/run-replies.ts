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

/** What workers tell a run. */
export interface RunReplies {
  /**
   * Takes what workers have noted of a chunk, told or not.
   *
   * @throws what keeping it throws
   */
  readonly takeLogged: (chunk: string) => Promise<void>;
  /** Why outcomes could not be kept, once that was so. They are not acknowledged: the next run gets them. */
  readonly failure: { readonly error: unknown } | undefined;
  /** When the last one came, by `performance.now()`; at first, when this was opened. */
  readonly lastAtMs: number;
  /** @param isOver whether no more will come: then nothing of them stays in Redis */
  close(isOver: boolean): Promise<void>;
}

export interface RunRepliesOptions {
  readonly redis: RedisServer;
  readonly ledger: RunLedger;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Told when outcomes are kept, or cannot be. */
  readonly onChange: () => void;
  /** Told why Redis refuses to hand them over. */
  readonly onNotice: (message: string) => void;
}

/** Outcomes that are written to the store at the same time. */
const REPLIES_AT_ONCE = 16;
/**
 * What the last replies were is kept when a run is over; only their acknowledgement may still be under
 * way, over a connection that has lost it, which only shows after half a minute.
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
  queue.on('error', () => {}); // told by what watches the connections
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

  // Those that the predecessor had taken when it was killed would else come only when their locks
  // have run out.
  try {
    for (const job of await queue.getActive()) await take(job);
  } catch (error) {
    await queue.close();
    throw error;
  }
  // The queue itself has just come into being.
  await ledger.date().catch(() => {}); // the next beat will do

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
  worker.on('failed', (_, error) => refusals.tell(error)); // the watchdog takes it up

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
