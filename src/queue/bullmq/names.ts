import type { JobsOptions, KeepJobs, QueueOptions } from 'bullmq';
import { DAY_MS } from '../../common/format.ts';

// Names that all parties must agree on. They are part of the contract (docs/queue-contract.md).

/** The prefix of all keys. Its braces make a Redis Cluster keep them on one node. */
export const PREFIX = '{brandfill}';
/** The queue where chunks wait for a worker. */
export const LOOKUPS_QUEUE = 'lookups';
export const LOOKUPS_JOB = 'lookups';
/** The queue for the outcomes of chunks that name no other queue. */
export const OUTCOMES_QUEUE = 'outcomes';
export const OUTCOMES_JOB = 'outcomes';
/**
 * For chunks that no run waits for. Interactive chunks have no priority, which BullMQ serves first.
 */
export const BULK_PRIORITY = 10;
/** For chunks of runs. Runs end one day, unlike a backlog that others add to. */
export const RUN_PRIORITY = 5;

/** What the chunks of a run name as their reply queue. No such queue exists: see `runStreamKey`. */
export function runQueueName(runId: string): string {
  return `run-${runId}`;
}

/** The run that waits on a queue, if any. */
export function findRunId(queueName: string): string | undefined {
  return /^run-(.+)$/.exec(queueName)?.[1];
}

/**
 * The id of a reply. It is the same when another worker sends the reply again. It is a new one when
 * a chunk of the same id is put on the queue anew, perhaps while the earlier reply still waits.
 * BullMQ refuses `:` in an id here, but accepts it in the id of a chunk from Python.
 *
 * @param number the number of the part, from 0
 */
export function replyId(
  chunk: string,
  { addedAtMs, number }: { readonly addedAtMs: number; readonly number: number },
): string {
  return `o-${addedAtMs}-${number}-${chunk.replaceAll(':', '%3A')}`;
}

/** The stream of the outcomes that a run has not stored yet. */
export function runStreamKey(runId: string): string {
  return `${PREFIX}:run-outcomes:${runId}`;
}

/** The key where it is noted which domains of a chunk of a run are done, one a line. */
export function doneKey(chunk: string): string {
  return `${PREFIX}:done:${chunk}`;
}

/** The stream of the outcomes of a chunk that no run waits for, until it is finished. */
export function logKey(chunk: string): string {
  return `${PREFIX}:log:${chunk}`;
}

/** The key where the chunks that a run waits for are noted. */
export function ledgerKey(runId: string): string {
  return `${PREFIX}:run:${runId}`;
}

/** How long the keys of a killed run or of a chunk are kept. After that no run resumes them. */
export const KEPT_MS: number = 7 * DAY_MS;

/** A worker, a process with schedules or a run that was silent for this long counts as gone. */
export const ABSENT_MS = 15_000;

/** After this time a command that Redis refused is tried again. */
export const RETRY_MS = 1_000;

/** A Redis that cannot be reached must not hold up a stop for longer. */
export const SHUTDOWN_TIMEOUT_MS = 3_000;

/**
 * BullMQ writes a completed job with its return value to the stream of events, and keeps it there.
 * Each queue has to turn that off.
 */
export const QUEUE_OPTIONS: Pick<QueueOptions, 'prefix' | 'streams'> = {
  prefix: PREFIX,
  streams: { events: { maxLen: 0 } },
};

/** Failed jobs are kept for a while, so that people can look for the reason. */
export const KEPT_FAILURES: KeepJobs = { age: 24 * 60 * 60, count: 100 };

export const CHUNK_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: KEPT_FAILURES };

/** Outcomes were paid for, so they are delivered again until a collector stores them. */
export const OUTCOMES_OPTIONS: JobsOptions = {
  removeOnComplete: true,
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 2_000 },
};
