import { Queue } from 'bullmq';
import { CONTRACT_VERSION, type OutcomeData, type OutcomesData } from '../contract.ts';
import {
  findRunId,
  KEPT_MS,
  OUTCOMES_JOB,
  OUTCOMES_OPTIONS,
  OUTCOMES_QUEUE,
  replyId,
  runQueueKeys,
} from '../names.ts';
import { isRunOpen } from '../runs/run-ledger.ts';
import type { RedisClient } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';
import { queueOptions } from '../traces.ts';

/** The outcomes of one chunk. */
export interface ChunkOutcomes {
  readonly chunk: string;
  /** When the chunk was put on the queue, in milliseconds since 1970. */
  readonly addedAtMs: number;
  readonly replyTo: string | undefined;
  readonly ref: unknown;
  readonly outcomes: readonly OutcomeData[];
  readonly error?: string;
}

/** Puts outcomes on the queue that their chunk names. */
export interface OutcomeSender {
  /**
   * Resolves when Redis has the outcomes. A run is only told that they are in the log. Outcomes for
   * a run that is over are dropped: it has had them from another worker.
   *
   * @returns whether there was anything to send, and a run or collector to send it to
   */
  send(outcomes: ChunkOutcomes): Promise<boolean>;
  /**
   * Whether a queue is still read: its run may be over. If Redis has just lost everything, the run
   * is given time to announce itself again.
   */
  isWaitedFor(replyTo: string | undefined): Promise<boolean>;
  close(): Promise<void>;
}

/** Long answers are sent in parts of about this size. */
const PART_BYTES = 4 * 1024 * 1024;
/** A run whose Redis lost everything announces itself again within these checks. */
const RUN_CHECKS = 12;
const RUN_CHECK_MS = 500;
const MOST_QUEUES = 200;

export function createOutcomeSender(client: RedisClient): OutcomeSender {
  const queues = new Map<string, Queue>();

  function queueOf(name: string): Queue {
    const known = queues.get(name);
    if (known) return known;
    for (const [oldest, queue] of queues) {
      if (queues.size < MOST_QUEUES) break;
      queues.delete(oldest);
      void queue.close();
    }
    const queue = new Queue(name, { connection: client, ...queueOptions(client) });
    queue.on('error', () => {}); // errors of the connection are reported elsewhere
    queues.set(name, queue);
    return queue;
  }

  async function isWaitedFor(replyTo = OUTCOMES_QUEUE): Promise<boolean> {
    const runId = findRunId(replyTo);
    if (runId === undefined) return true;
    for (let check = 0; check < RUN_CHECKS; check += 1) {
      if (await isRunOpen(client, runId)) return true;
      await new Promise((resolve) => setTimeout(resolve, RUN_CHECK_MS));
    }
    return false;
  }

  /** Sets an expiry on keys that the run may no longer fetch: it may have been killed for good. */
  async function letGo(keys: readonly string[]): Promise<void> {
    const dated = keys.map((key) => client.pexpire(key, KEPT_MS));
    await Promise.all(dated).catch(() => {}); // the outcomes were sent
  }

  return {
    isWaitedFor,
    send: async ({ chunk, addedAtMs, replyTo = OUTCOMES_QUEUE, ref, outcomes, error }) => {
      if (outcomes.length === 0 && error === undefined) return false;
      if (!(await isWaitedFor(replyTo))) return false;
      const queue = queueOf(replyTo);
      const runId = findRunId(replyTo);
      if (runId !== undefined) {
        const data: OutcomesData = { v: CONTRACT_VERSION, chunk, outcomes: [], isLogged: true };
        const jobId = `o-${chunk}`;
        await queue.add(OUTCOMES_JOB, data, { ...OUTCOMES_OPTIONS, jobId });
        await letGo([...runQueueKeys(runId), queue.toKey(jobId)]);
        return true;
      }
      for (const [number, part] of cut(outcomes).entries()) {
        const data: OutcomesData = {
          v: CONTRACT_VERSION,
          chunk,
          ...(ref === undefined ? {} : { ref }),
          outcomes: part,
          ...(error === undefined ? {} : { error }),
        };
        const jobId = replyId(chunk, { addedAtMs, number });
        const timestamp = await timeOf(client);
        await queue.add(OUTCOMES_JOB, data, { ...OUTCOMES_OPTIONS, jobId, timestamp });
      }
      return true;
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}

/**
 * Cuts outcomes into parts. They are sorted, so that parts sent again, by any worker, are the same.
 */
function cut(outcomes: readonly OutcomeData[]): readonly (readonly OutcomeData[])[] {
  const parts: OutcomeData[][] = [[]];
  const sorted = [...outcomes].sort((a, b) => (a.domain < b.domain ? -1 : 1));
  let sizeBytes = 0;
  for (const outcome of sorted) {
    if (sizeBytes > PART_BYTES) {
      parts.push([]);
      sizeBytes = 0;
    }
    parts.at(-1)?.push(outcome);
    sizeBytes += outcome.json.length;
  }
  return parts;
}
