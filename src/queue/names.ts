import type { KeepJobs, QueueOptions } from 'bullmq';
import { DAY_MS } from '../common/format.ts';

// Every key of Redis that is ours, and what all parties must agree on (docs/queue-contract.md). The
// queue of an API is called `Endpoint.queueName`.

/** The prefix of all keys. Its braces make a Redis Cluster keep them on one node. */
export const PREFIX = '{brandfill}';
/** The name of a job with lookups. */
export const LOOKUPS_JOB = 'lookups';

/** The priority of jobs of other programs that nobody waits for. Jobs without one go first. */
export const BACKFILL_PRIORITY = 10;

/** A run looks this often how much of its bounds is spent, and allows workers more. */
export const ALLOW_MS = 200;

/** How long what a killed run has not read is kept. */
export const KEPT_MS: number = 7 * DAY_MS;

/** After this time a command that Redis refused is tried again. */
export const RETRY_MS = 1_000;

/**
 * So long after a Redis is back, perhaps with less than it knew, that is put right: workers have
 * sent again what it may have lost, and runs have taken out of their jobs what is done.
 */
export const SETTLED_MS = 3_000;

/** A Redis that cannot be reached must not hold up a stop for longer. */
export const GOODBYE_MS = 3_000;

/** A worker or a run that was silent for this long counts as gone. */
export const ABSENT_MS = 15_000;

/** A set of the names of all queues of lookups. */
export const QUEUES_KEY = `${PREFIX}:queues`;

/** A hash of the workers there are, by their ids. */
export const WORKERS_KEY = `${PREFIX}:workers`;

/** The stream of the outcomes of a run, or of an API's backfills: then `name` is its queue's. */
export function streamKey(name: string): string {
  return `${PREFIX}:outcomes:${name}`;
}

/** The hash of a run: whether it is paused, its bounds, and what was spent of them. */
export function runKey(run: string): string {
  return `${PREFIX}:run:${run}`;
}

/**
 * What the ids of a run's jobs begin with. Jobs of other producers may name a run too, without a
 * hash.
 */
export function runJobPrefix(run: string): string {
  return `run-${run}-`;
}

/** Who appends a Redis's outcomes to files. */
export const COLLECTOR_KEY = `${PREFIX}:collector`;

/** A text of chance: places in the streams of another Redis say nothing of this one's. */
export const ID_KEY = `${PREFIX}:id`;

/**
 * BullMQ writes what becomes of each job to a stream of events, which has filled a Redis with a
 * gigabyte: each queue has to turn that off. And it looks at Redis's settings each time that a
 * queue is opened, to complain about them, which `checkServer` has done.
 */
export const QUEUE_OPTIONS: Pick<QueueOptions, 'prefix' | 'streams' | 'skipVersionCheck'> = {
  prefix: PREFIX,
  streams: { events: { maxLen: 0 } },
  skipVersionCheck: true,
};

/** Failed jobs are kept for a while, so that people can look for the reason. */
export const KEPT_FAILURES: KeepJobs = { age: 24 * 60 * 60, count: 100 };
