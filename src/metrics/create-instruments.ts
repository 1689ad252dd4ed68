import { isDone } from '../common/errors.ts';
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
  const size = metrics.gauge(
    'brandfill_store_size_bytes',
    'Size of the store of the run on disk.',
    ['run'],
  );
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
  const lines = metrics.counter(
    'brandfill_collected_outcomes_total',
    'Outcomes written, by the kind of file.',
    ['file'],
  );
  const repeated = metrics.counter(
    'brandfill_collected_repeats_total',
    'Replies that arrived again after they had been written to the files.',
  );
  const free = metrics.gauge(
    'brandfill_collect_free_bytes',
    'Free space on the disk that holds the files.',
  );
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
  const up = metrics.gauge('brandfill_redis_up', '1 if the Redis of the queue answers, else 0.');
  const jobs = metrics.gauge(
    'brandfill_queue_jobs',
    'Jobs on a queue by state; each is a chunk of lookups or the outcomes of one.',
    ['queue', 'state'],
  );
  const oldest = metrics.gauge(
    'brandfill_queue_oldest_job_age_seconds',
    'Time since the longest-waiting job on a queue was added; 0 when none waits.',
    ['queue'],
  );
  const workers = metrics.gauge(
    'brandfill_queue_workers',
    'Workers on the queue of lookups, on all machines.',
  );
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
  const next = metrics.gauge(
    'brandfill_schedule_next_run_timestamp_seconds',
    'Time at which the job is next due, in seconds since 1970.',
    ['run'],
  );
  const running = metrics.gauge(
    'brandfill_schedule_running',
    '1 while the job is running, on any machine, else 0.',
    ['run'],
  );
  const ended = metrics.gauge(
    'brandfill_schedule_last_run_timestamp_seconds',
    'End time of the last run of the job, in seconds since 1970.',
    ['run'],
  );
  const duration = metrics.gauge(
    'brandfill_schedule_last_run_duration_seconds',
    'Duration of the last run of the job.',
    ['run'],
  );
  const exitCode = metrics.gauge(
    'brandfill_schedule_last_run_exit_code',
    'Exit code of the last run of the job: 0 done, 3 some rows failed or nothing was found, 4 stopped early, 2 could not be run.',
    ['run'],
  );
  const success = metrics.gauge(
    'brandfill_schedule_last_success_timestamp_seconds',
    'Time at which a run of the job last ended with exit code 0 or 3, in seconds since 1970.',
    ['run'],
  );
  const skipped = metrics.gauge(
    'brandfill_schedule_last_run_skips',
    'Number of times the job was due again during its last run; those runs were skipped.',
    ['run'],
  );

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
  const startedAt = metrics.gauge(
    'brandfill_run_start_time_seconds',
    'Start time of the run, in seconds since 1970.',
    ['run'],
  );
  const rows = metrics.gauge('brandfill_run_rows', 'Rows in the list.', ['run']);
  const fresh = metrics.gauge(
    'brandfill_run_fresh_domains',
    'Domains in the list that need no lookup because the store has a fresh outcome.',
    ['run'],
  );
  const lookups = metrics.gauge(
    'brandfill_run_lookups',
    'Lookups needed for the run, made by this process or others.',
    ['run'],
  );
  const done = metrics.gauge(
    'brandfill_run_lookups_done',
    'Finished lookups of the run, by outcome.',
    ['run', 'outcome'],
  );
  const outstanding = metrics.gauge(
    'brandfill_run_outstanding_lookups',
    'Lookups of the run that have been handed out and have no outcome yet.',
    ['run'],
  );
  const window = metrics.gauge(
    'brandfill_run_window_lookups',
    'Maximum number of outstanding lookups of the run at the same time.',
    ['run'],
  );
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
