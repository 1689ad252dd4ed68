import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { OutcomeStatus } from '../brand/outcome.ts';
import { type CallCounters, createCallCounters } from '../common/calls.ts';
import { isDone } from '../common/errors.ts';
import { freeBytes } from '../common/files.ts';
import { within } from '../common/lifetime.ts';
import { JOB_STATES, type ReadQueues } from '../queue/queues.ts';
import type { ScheduledJob } from '../queue/schedules.ts';
import type { PaceDescription } from '../worker/pace-memory.ts';
import type { RunView } from './run-view.ts';
import { limitOf } from './timeline.ts';

/** The part of a worker of this process that metrics read. */
export interface WorkerSight {
  readonly counters: Readonly<CallCounters>;
  /** The pace, and whether no call starts because the API is out. */
  readonly describe: () => PaceDescription & { readonly outage?: string | undefined };
}

/** Called with what a worker does, for as long as it works. */
export interface WorkerProbe {
  /** A call ended; without a status when there was no answer. */
  readonly onCallEnd: (httpStatus: number | undefined, latencyMs: number) => void;
  readonly onOutcome: (status: OutcomeStatus) => void;
  readonly end: () => void;
}

/** Measures what a process does. */
export interface Instruments {
  readonly worker: (sight: WorkerSight) => WorkerProbe;
  /** Returns a function that ends it. */
  readonly queues: (read: ReadQueues) => () => void;
}

/** The same for one run, until it is over. */
export interface RunInstruments extends Instruments {
  readonly end: () => void;
}

/** A run, as metrics read it. */
export interface MeasuredRun {
  /** The name of its job file, or of the command. */
  readonly name: string;
  readonly read: () => RunView;
}

/** The metrics of a process. All are read off at a scrape, and cost next to nothing until then. */
export interface Metrics {
  readonly registry: Registry;
  /** All of them, in the text format of Prometheus. */
  text(): Promise<string>;
  /** For a process that works for any number of runs. */
  readonly forWorker: () => Instruments;
  readonly forRun: (run: MeasuredRun) => RunInstruments;
  readonly forCollector: (sight: CollectSight) => void;
  readonly forSchedules: (read: () => Promise<readonly ScheduledJob[]>) => void;
}

/** The part of a collector that metrics read. */
interface CollectSight {
  readonly counts: Readonly<Record<'enriched' | 'failures', number>>;
  /** The folder of its files. */
  readonly folder: string;
}

type Meter = Gauge | Counter;

/** Help and labels of each; it exists from the first time that something has it. */
export const METRICS = {
  lookups_total: ['Lookups that this process made, by outcome.', 'outcome'],
  throttled_calls_total: ['Calls that the API refused for the moment (429 and the like).'],
  retries_total: ['Retries of lookups after a failure.'],
  billed_units_total: ['What the API billed, in the unit of its profile.'],
  calls_in_flight: ['Calls that have no answer yet.'],
  api_outage: ['1 while no call starts because of an outage of the API, else 0.'],
  pace_rate_calls_per_second: ['Rate at which calls may start.', 'run'],
  pace_limit_calls_per_second: ['Rate limit of the API, if it is known.', 'run'],
  pace_gate_closed_seconds: ['How long the API has all calls wait; 0 when they may start.', 'run'],
  redis_up: ['1 if the Redis of the queue answers, else 0.'],
  queue_jobs: ['Jobs on the queue of an API by state.', 'queue', 'state'],
  queue_oldest_job_age_seconds: ['Age of the longest-waiting job; 0 when none waits.', 'queue'],
  queue_uncollected: [
    'Entries with outcomes of backfills that brandfill collect has not written yet.',
    'queue',
  ],
  queue_workers: ['Workers on all queues, on all machines.'],
  collected_outcomes_total: ['Outcomes written, by the kind of file.', 'file'],
  collect_free_bytes: ['Free space on the disk that holds the files.'],
  run_lookups: ['Lookups needed for the run.', 'run'],
  run_lookups_done: ['Finished lookups of the run, by outcome.', 'run', 'outcome'],
  schedule_next_run_timestamp_seconds: ['Time at which the job is next due, since 1970.', 'run'],
  schedule_last_run_timestamp_seconds: ['End time of the last run of the job.', 'run'],
  schedule_last_run_exit_code: ['Exit code of the last run of the job.', 'run'],
  schedule_last_success_timestamp_seconds: ['When a run last ended with exit code 0 or 3.', 'run'],
} as const satisfies Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;

type MetricName = keyof typeof METRICS;
type Labels = Readonly<Record<string, string>>;
type Put = (name: MetricName, value: number | undefined, labels?: Labels) => void;
type Look = (put: Put) => void | Promise<void>;

/** Redis may not answer, and Prometheus waits for ten seconds. */
const LONGEST_LOOK_MS = 3_000;
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createMetrics(about: {
  /** The command that runs, such as `worker`. */
  readonly command: string;
  readonly version: string;
}): Metrics {
  const registry = Registry.merge([registryOfNode()]);
  const registers = [registry];
  new Gauge({
    name: 'brandfill_build_info',
    help: 'Always 1; says which command of which version this is.',
    labelNames: ['command', 'version'],
    registers,
  }).set({ ...about }, 1);
  const meters = new Map<MetricName, Meter>();
  const looks = new Set<Look>();
  let looking: Promise<void> | undefined;
  let calls: ReturnType<typeof createCallMeter> | undefined;

  const put: Put = (name, value, labels = {}) => {
    let meter = meters.get(name);
    if (!meter) {
      const [help, ...labelNames] = METRICS[name];
      const options = { name: `brandfill_${name}`, help, labelNames, registers };
      meter = name.endsWith('_total') ? new Counter(options) : new Gauge(options);
      meters.set(name, meter);
    }
    if (value !== undefined) meter.inc(labels, value);
  };

  async function lookAtAll(): Promise<void> {
    for (const meter of meters.values()) meter.reset();
    await Promise.all(
      [...looks].map(async (look) => await within(LONGEST_LOOK_MS, Promise.resolve(look(put)))),
    );
  }

  /** Returns a function that ends it. */
  const onScrape = (look: Look): (() => void) => {
    looks.add(look);
    return () => void looks.delete(look);
  };

  const instrumentsOf = (run?: string): Instruments => ({
    worker: (sight) => {
      calls ??= createCallMeter(registry, onScrape);
      return calls(sight, run === undefined ? {} : { run });
    },
    queues: (read) => onScrape(async (put) => await putQueues(put, read)),
  });

  return {
    registry,
    text: async () => {
      // Scrapes that come meanwhile get the same text: one look is enough for all.
      looking ??= lookAtAll().finally(() => {
        looking = undefined;
      });
      await looking;
      return await registry.metrics();
    },
    forWorker: () => instrumentsOf(),
    forRun: (run) => ({ ...instrumentsOf(run.name), end: onScrape((put) => putRun(put, run)) }),
    forCollector: (sight) => void onScrape((put) => putCollected(put, sight)),
    forSchedules: (read) =>
      void onScrape(async (put) => {
        for (const job of await read().catch(() => [])) putSchedule(put, job);
      }),
  };
}

function createCallMeter(
  registry: Registry,
  onScrape: (look: Look) => () => void,
): (sight: WorkerSight, labels: Labels) => WorkerProbe {
  const duration = new Histogram({
    name: 'brandfill_call_duration_seconds',
    help: 'Duration of calls, from the start to the last byte of the answer, by status class; none without an answer.',
    labelNames: ['status'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const outcomes = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
  /** Of workers that have ended. */
  const before = createCallCounters();
  const workers = new Map<WorkerSight, Labels>();
  let answered = 0;
  onScrape((put) => {
    const total = (key: keyof CallCounters): number =>
      [...workers.keys()].reduce((sum, { counters }) => sum + counters[key], before[key]);
    for (const [outcome, count] of Object.entries(outcomes))
      put('lookups_total', count, { outcome });
    put('throttled_calls_total', total('throttled'));
    put('retries_total', total('retries'));
    put('billed_units_total', total('billedMicros') / 1_000_000);
    put('calls_in_flight', total('calls') - answered);
    let isOut = false;
    for (const [sight, labels] of workers) {
      const pace = sight.describe();
      isOut ||= pace.outage !== undefined;
      putPace(put, pace, labels);
    }
    put('api_outage', isOut ? 1 : 0);
  });
  return (sight, labels) => {
    workers.set(sight, labels);
    return {
      onCallEnd: (httpStatus, latencyMs) => {
        answered += 1;
        const status = httpStatus === undefined ? 'none' : `${Math.floor(httpStatus / 100)}xx`;
        duration.observe({ status }, latencyMs / 1_000);
      },
      onOutcome: (status) => {
        outcomes[status] += 1;
      },
      end: () => {
        if (!workers.delete(sight)) return;
        for (const key of ['calls', 'throttled', 'retries', 'billedMicros'] as const) {
          before[key] += sight.counters[key];
        }
      },
    };
  };
}

function putPace(put: Put, pace: PaceDescription, labels: Labels): void {
  const isShut = pace.why === 'retry_after' || pace.why === 'backing_off';
  put('pace_rate_calls_per_second', pace.ratePerSecond, labels);
  put('pace_limit_calls_per_second', limitOf(pace), labels);
  put('pace_gate_closed_seconds', isShut ? pace.waitMs / 1_000 : 0, labels);
}

async function putQueues(put: Put, read: ReadQueues): Promise<void> {
  const reading = await read().catch(() => undefined);
  put('redis_up', reading ? 1 : 0);
  if (!reading) return;
  put('queue_workers', reading.workers);
  for (const { queue, jobs, oldestMs, uncollected } of reading.queues) {
    for (const state of JOB_STATES) {
      put('queue_jobs', jobs[state], { queue, state: state === 'wait' ? 'waiting' : state });
    }
    put('queue_oldest_job_age_seconds', oldestMs / 1_000, { queue });
    put('queue_uncollected', uncollected, { queue });
  }
}

function putRun(put: Put, { name, read }: MeasuredRun): void {
  const { phase, due, outcomes } = read();
  if (phase === 'reading') return;
  put('run_lookups', due, { run: name });
  for (const [outcome, count] of Object.entries(outcomes)) {
    put('run_lookups_done', count, { run: name, outcome });
  }
}

function putCollected(put: Put, { counts, folder }: CollectSight): void {
  put('collected_outcomes_total', counts.enriched, { file: 'enriched' });
  put('collected_outcomes_total', counts.failures, { file: 'failures' });
  try {
    put('collect_free_bytes', freeBytes(folder));
  } catch {
    // Its disk may be gone: the other metrics are still reported.
  }
}

/** From what Redis knows of a schedule, which outlives the process. */
function putSchedule(put: Put, { job, nextAt, results }: ScheduledJob): void {
  const labels = { run: job };
  const seconds = (time: string): number => Date.parse(time) / 1_000;
  put('schedule_next_run_timestamp_seconds', seconds(nextAt), labels);
  const good = results.find((result) => isDone(result.exitCode));
  if (good) put('schedule_last_success_timestamp_seconds', seconds(good.finishedAt), labels);
  const [last] = results;
  if (!last) return;
  const { finishedAt, exitCode } = last;
  put('schedule_last_run_timestamp_seconds', seconds(finishedAt), labels);
  put('schedule_last_run_exit_code', exitCode, labels);
}

let ofNode: Registry | undefined;

/**
 * Memory, CPU, the lag of the event loop: once for a process, since prom-client does not stop watching.
 * What is named as a counter and is none is left out.
 */
function registryOfNode(): Registry {
  if (ofNode) return ofNode;
  ofNode = new Registry();
  collectDefaultMetrics({ register: ofNode });
  for (const of of ['handles', 'requests', 'resources']) {
    ofNode.removeSingleMetric(`nodejs_active_${of}_total`);
  }
  return ofNode;
}
