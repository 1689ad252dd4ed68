import { Counter, Gauge } from 'prom-client';
import { isDone } from '../common/exit-codes.ts';
import { freeBytes } from '../common/files.ts';
import { JOB_STATES, type QueueReading, type ReadQueues } from '../queue/bullmq/queues.ts';
import type { ScheduledJob } from '../schedule/group.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import type { RunEvent } from '../watch/events.ts';
import { createCallMetrics } from './call-metrics.ts';
import type { Instruments, Metrics, RunInstruments, WindowSight } from './metrics.ts';

/** The names in a run's metrics. */
export interface RunFacts {
  /** The name of its job file, or of the command. */
  readonly name: string;
  /** The folder of its store. */
  readonly store: string;
}

/** The instruments of a process. A metric exists from the first time that it is needed. */
export interface InstrumentMaker {
  /** For a process that works for any number of runs. */
  readonly forWorker: () => Instruments;
  readonly forRun: (run: RunFacts) => RunInstruments;
  readonly forCollector: (sight: CollectSight) => void;
  readonly forSchedules: (read: ReadSchedules) => void;
}

/** Must be called once for each process. */
export function createInstrumentMaker(metrics: Metrics): InstrumentMaker {
  const calls = once(() => createCallMetrics(metrics));
  const queues = once(() => createQueueMetrics(metrics));
  const runs = once(() => createRunMetrics(metrics));
  const stores = once(() => createStoreMetrics(metrics));
  const instrumentsOf = (run?: string): Instruments => ({
    worker: (sight) => calls()(sight, run),
    queues: (read) => queues()(read),
  });
  return {
    forWorker: () => instrumentsOf(),
    forRun: ({ name, store }) => {
      const meter = runs()(name);
      const endStore = stores()(store, name);
      return {
        ...instrumentsOf(name),
        ...meter,
        end: () => {
          meter.end();
          endStore();
        },
      };
    },
    forCollector: (sight) => measureCollector(metrics, sight),
    forSchedules: (read) => measureSchedules(metrics, read),
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Metrics of stores. Returns a function that measures the store of a run until its result is
 * called.
 */
function createStoreMetrics(metrics: Metrics): (folder: string, run: string) => () => void {
  const size = new Gauge({
    name: 'brandfill_store_size_bytes',
    help: 'Size of the store of the run on disk.',
    labelNames: ['run'],
    registers: [metrics.registry],
  });
  return (folder, run) => {
    const labels = { run };
    const end = metrics.onScrape(() => size.set(labels, sizeOnDisk(folder)));
    return () => {
      end();
      size.remove(labels);
    };
  };
}

/** The part of a collector that metrics read. */
interface CollectSight {
  readonly counts: {
    readonly enriched: number;
    readonly failures: number;
    readonly repeated: number;
  };
  /** The folder of its files. */
  readonly folder: string;
}

/** Metrics of a collector of backfills. */
export function measureCollector(metrics: Metrics, { counts, folder }: CollectSight): void {
  const registers = [metrics.registry];
  const lines = new Counter({
    name: 'brandfill_collected_outcomes_total',
    help: 'Outcomes written, by the kind of file.',
    labelNames: ['file'],
    registers,
  });
  const repeated = new Counter({
    name: 'brandfill_collected_repeats_total',
    help: 'Replies that arrived again after they had been written to the files.',
    registers,
  });
  const free = new Gauge({
    name: 'brandfill_collect_free_bytes',
    help: 'Free space on the disk that holds the files.',
    registers,
  });
  metrics.onScrape(() => {
    lines.reset();
    lines.inc({ file: 'enriched' }, counts.enriched);
    lines.inc({ file: 'failures' }, counts.failures);
    repeated.reset();
    repeated.inc(counts.repeated);
    try {
      free.set(freeBytes(folder));
    } catch {
      free.remove(); // its disk may be gone: the other metrics are still reported
    }
  });
}

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

/** Reads what is known of the jobs of a schedule; nothing when Redis does not answer. */
type ReadSchedules = () => Promise<readonly ScheduledJob[]>;

/** Metrics of schedules, from what Redis knows about them: they outlive the process. */
function measureSchedules(metrics: Metrics, read: ReadSchedules): void {
  const labelNames = ['run'];
  const registers = [metrics.registry];
  const next = new Gauge({
    name: 'brandfill_schedule_next_run_timestamp_seconds',
    help: 'Time at which the job is next due, in seconds since 1970.',
    labelNames,
    registers,
  });
  const running = new Gauge({
    name: 'brandfill_schedule_running',
    help: '1 while the job is running, on any machine, else 0.',
    labelNames,
    registers,
  });
  const ended = new Gauge({
    name: 'brandfill_schedule_last_run_timestamp_seconds',
    help: 'End time of the last run of the job, in seconds since 1970.',
    labelNames,
    registers,
  });
  const duration = new Gauge({
    name: 'brandfill_schedule_last_run_duration_seconds',
    help: 'Duration of the last run of the job.',
    labelNames,
    registers,
  });
  const exitCode = new Gauge({
    name: 'brandfill_schedule_last_run_exit_code',
    help: 'Exit code of the last run of the job: 0 done, 3 some rows failed or nothing was found, 4 stopped early, 2 could not be run.',
    labelNames,
    registers,
  });
  const success = new Gauge({
    name: 'brandfill_schedule_last_success_timestamp_seconds',
    help: 'Time at which a run of the job last ended with exit code 0 or 3, in seconds since 1970.',
    labelNames,
    registers,
  });
  const skipped = new Gauge({
    name: 'brandfill_schedule_last_run_skips',
    help: 'Number of times the job was due again during its last run; those runs were skipped.',
    labelNames,
    registers,
  });

  function set({ job, nextAt, runningSince, results }: ScheduledJob): void {
    const labels = { run: job };
    next.set(labels, secondsOf(nextAt));
    running.set(labels, runningSince === undefined ? 0 : 1);
    const [last] = results;
    const good = results.find((result) => isDone(result.exitCode));
    if (good) success.set(labels, secondsOf(good.finishedAt));
    if (!last) return;
    ended.set(labels, secondsOf(last.finishedAt));
    duration.set(labels, secondsOf(last.finishedAt) - secondsOf(last.startedAt));
    exitCode.set(labels, last.exitCode);
    skipped.set(labels, last.skipped);
  }

  metrics.onScrape(async () => {
    const jobs = await read().catch(() => []);
    for (const gauge of [next, running, ended, duration, exitCode, success, skipped]) gauge.reset();
    for (const job of jobs) set(job);
  });
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000;
}

/** Measures one run. */
export interface RunMeter {
  readonly onEvent: (event: RunEvent) => void;
  readonly window: (sight: WindowSight) => void;
  readonly end: () => void;
}

/** Metrics of runs. They exist while the run of that name goes on. */
function createRunMetrics(metrics: Metrics): (run: string) => RunMeter {
  const registers = [metrics.registry];
  const labelNames = ['run'];
  const startedAt = new Gauge({
    name: 'brandfill_run_start_time_seconds',
    help: 'Start time of the run, in seconds since 1970.',
    labelNames,
    registers,
  });
  const rows = new Gauge({
    name: 'brandfill_run_rows',
    help: 'Rows in the list.',
    labelNames,
    registers,
  });
  const fresh = new Gauge({
    name: 'brandfill_run_fresh_domains',
    help: 'Domains in the list that need no lookup because the store has a fresh outcome.',
    labelNames,
    registers,
  });
  const lookups = new Gauge({
    name: 'brandfill_run_lookups',
    help: 'Lookups needed for the run, made by this process or others.',
    labelNames,
    registers,
  });
  const done = new Gauge({
    name: 'brandfill_run_lookups_done',
    help: 'Finished lookups of the run, by outcome.',
    labelNames: ['run', 'outcome'],
    registers,
  });
  const outstanding = new Gauge({
    name: 'brandfill_run_outstanding_lookups',
    help: 'Lookups of the run that have been handed out and have no outcome yet.',
    labelNames,
    registers,
  });
  const window = new Gauge({
    name: 'brandfill_run_window_lookups',
    help: 'Maximum number of outstanding lookups of the run at the same time.',
    labelNames,
    registers,
  });
  const all = [startedAt, rows, fresh, lookups, outstanding, window];

  return (run) => {
    const labels = { run };
    let sight: WindowSight | undefined;
    const endLook = metrics.onScrape(() => {
      if (!sight) return;
      outstanding.set(labels, sight.outstanding());
      window.set(labels, sight.most);
    });
    startedAt.set(labels, Date.now() / 1_000);
    return {
      onEvent: (event) => {
        if (event.type === 'planned') {
          rows.set(labels, event.plan.rows);
          fresh.set(labels, event.plan.freshDomains);
          lookups.set(labels, event.plan.lookups);
        }
        if (event.type !== 'progress') return;
        for (const [outcome, count] of Object.entries(event.outcomes)) {
          done.set({ run, outcome }, count);
        }
      },
      window: (given) => {
        sight = given;
      },
      end: () => {
        endLook();
        for (const gauge of all) gauge.remove(labels);
        for (const outcome of ['found', 'not_found', 'rejected', 'failed', 'pending']) {
          done.remove({ run, outcome });
        }
      },
    };
  };
}
