import { Gauge } from 'prom-client';
import { JOB_STATES, type QueueReading, type ReadQueues } from '../queue/bullmq/queues.ts';
import type { Metrics } from './metrics.ts';

/**
 * Metrics of the queues on a Redis. Returns a function that includes them until its result is
 * called.
 */
export function createQueueMetrics(metrics: Metrics): (read: ReadQueues) => () => void {
  const registers = [metrics.registry];
  const up = new Gauge({
    name: 'brandfill_redis_up',
    help: '1 if the Redis of the queue answers, else 0.',
    registers,
  });
  const jobs = new Gauge({
    name: 'brandfill_queue_jobs',
    help: 'Jobs on a queue by state; each is a chunk of lookups or the outcomes of one.',
    labelNames: ['queue', 'state'],
    registers,
  });
  const oldest = new Gauge({
    name: 'brandfill_queue_oldest_job_age_seconds',
    help: 'Time since the longest-waiting job on a queue was added; 0 when none waits.',
    labelNames: ['queue'],
    registers,
  });
  const workers = new Gauge({
    name: 'brandfill_queue_workers',
    help: 'Workers on the queue of lookups, on all machines.',
    registers,
  });
  /**
   * Runs of schedules may each have their own connection to the same Redis: the last one is read.
   */
  const readers = new Set<ReadQueues>();

  function set({ queues, workers: there }: QueueReading): void {
    workers.set(there);
    for (const depth of queues) {
      for (const state of JOB_STATES) {
        jobs.set({ queue: depth.queue, state: STATE_NAMES[state] }, depth.jobs[state]);
      }
      oldest.set({ queue: depth.queue }, depth.oldestMs / 1_000);
    }
  }

  metrics.onScrape(async () => {
    for (const gauge of [up, jobs, oldest, workers]) gauge.reset();
    const read = [...readers].at(-1);
    const reading = await read?.().catch(() => undefined);
    if (read) up.set(reading ? 1 : 0);
    else up.remove(); // the run has not reached the queue yet, or is past it
    if (reading) set(reading);
    else workers.remove();
  });
  return (read) => {
    readers.add(read);
    return () => void readers.delete(read);
  };
}

const STATE_NAMES = {
  wait: 'waiting',
  prioritized: 'prioritized',
  active: 'active',
  delayed: 'delayed',
  failed: 'failed',
} as const;
