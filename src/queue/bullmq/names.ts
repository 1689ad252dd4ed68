import type { JobsOptions, KeepJobs, QueueOptions } from 'bullmq';

// What every party must agree on. It is part of the contract (docs/queue-contract.md).

/** What all keys begin with. The braces make a Redis Cluster keep them on one node. */
export const PREFIX = '{brandfill}';
/** Where chunks wait for a worker. */
export const LOOKUPS_QUEUE = 'lookups';
export const LOOKUPS_JOB = 'lookups';
/** Where the outcomes of chunks go that name no other queue. */
export const OUTCOMES_QUEUE = 'outcomes';
export const OUTCOMES_JOB = 'outcomes';
/** Chunks that nobody waits for; whoever waits for an answer gives none, and is served first. */
export const BULK_PRIORITY = 10;
/** Chunks of runs, which are done one day, unlike a backlog that others add to. */
export const RUN_PRIORITY = 5;

/** The queue on which a run waits for its outcomes. */
export function runQueueName(runId: string): string {
  return `run-${runId}`;
}

/** The run that waits on a queue, if one does. */
export function findRunId(queueName: string): string | undefined {
  return /^run-(.+)$/.exec(queueName)?.[1];
}

/**
 * The id of a reply: the same one when another worker sends it again, and a new one when a chunk of
 * the same id is put on the queue anew, which may be while the reply to the earlier one still waits.
 * BullMQ takes no `:` in an id here, but does in that of a chunk from Python.
 *
 * @param number of the part, from 0
 */
export function replyId(
  chunk: string,
  { addedAtMs, number }: { readonly addedAtMs: number; readonly number: number },
): string {
  return `o-${addedAtMs}-${number}-${chunk.replaceAll(':', '%3A')}`;
}

/** Where the outcomes of a chunk are noted until it is finished. */
export function logKey(chunk: string): string {
  return `${PREFIX}:log:${chunk}`;
}

/** Where it is noted which chunks a run waits for. */
export function ledgerKey(runId: string): string {
  return `${PREFIX}:run:${runId}`;
}

/** Nobody comes back for a run that was killed, or for a chunk, after so long. */
export const KEPT_MS: number = 7 * 24 * 60 * 60_000;

/** The keys of the queue on which a run waits, but for those of its jobs. */
export function runQueueKeys(runId: string): readonly string[] {
  const parts = ['meta', 'id', 'events', 'marker', 'wait', 'active'];
  return parts.map((part) => `${PREFIX}:${runQueueName(runId)}:${part}`);
}

/**
 * A completed job is put into the stream of events with all that it returned, and kept there: every
 * queue has to say that it wants none of that.
 */
export const QUEUE_OPTIONS: Pick<QueueOptions, 'prefix' | 'streams'> = {
  prefix: PREFIX,
  streams: { events: { maxLen: 0 } },
};

/** Failed jobs are kept for a while, for whoever looks for the reason. */
export const KEPT_FAILURES: KeepJobs = { age: 24 * 60 * 60, count: 100 };

export const CHUNK_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: KEPT_FAILURES };

/** Outcomes were paid for: they are delivered again until somebody keeps them. */
export const OUTCOMES_OPTIONS: JobsOptions = {
  removeOnComplete: true,
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 2_000 },
};
