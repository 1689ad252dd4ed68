import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { isDone } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import { JOB_STATES, type ReadQueues } from '../queue/board.ts';
import type { ScheduledJob } from '../queue/schedules.ts';
import type { RunView } from './run-view.ts';

/** The metrics of a process. All are read off at a scrape, and cost next to nothing until then. */
export interface Metrics {
  readonly contentType: string;
  /** All of them, in the text format of Prometheus. */
  text(): Promise<string>;
  /** Of a run, by the name of its job file or command, until the next of that name; or of a worker. */
  readonly forRun: (run: string, read: () => RunView) => void;
  /** Returns a function that ends it. */
  readonly forQueues: (read: ReadQueues) => () => void;
  readonly forCollector: (counts: Collected) => void;
  readonly forSchedules: (read: () => Promise<readonly ScheduledJob[]>) => void;
}

type Collected = Readonly<Record<'enriched' | 'failures', number>>;

/** Help and labels of each; it exists from the first time that something has it. */
export const METRICS = {
  build_info: ['Always 1; says which command of which version this is.', 'command', 'version'],
  lookups_due: ['Lookups needed for the run.', 'run'],
  lookups_total: ['Lookups by outcome: of a run, or those that a worker made.', 'run', 'outcome'],
  lookups_under_way: ['Lookups of a run that were handed out and have no outcome yet.', 'run'],
  calls_total: ['HTTP requests, throttled ones included.', 'run'],
  answers_total: ['Calls of this process by HTTP status, or why none came.', 'run', 'answer'],
  call_duration_seconds: ['Half, or 95 % of the calls took no longer.', 'run', 'quantile'],
  throttled_calls_total: ['Calls that the API refused for the moment (429 and the like).', 'run'],
  retries_total: ['Retries of lookups after a failure.', 'run'],
  billed_units_total: ['What the API billed, in the unit of its profile.', 'run'],
  api_outage: ['1 while no call starts because of an outage of the API, else 0.', 'run'],
  pace_limit_calls_per_second: ['Rate limit of the API, if it is known.', 'run'],
  pace_gate_closed_seconds: ['How long the API has all calls wait; 0 when they may start.', 'run'],
  redis_up: ['1 if the Redis of the queue answers, else 0.'],
  queue_jobs: ['Jobs on the queue of an API by state.', 'queue', 'state'],
  queue_uncollected: [
    'Entries with outcomes of backfills that brandfill collect has not written yet.',
    'queue',
  ],
  queue_workers: ['Workers on all queues, on all machines.'],
  collected_outcomes_total: ['Outcomes written, by the kind of file.', 'file'],
  schedule_next_run_timestamp_seconds: ['Time at which the job is next due, since 1970.', 'run'],
  schedule_last_run_timestamp_seconds: ['End time of the last run of the job.', 'run'],
  schedule_last_run_exit_code: ['Exit code of the last run of the job.', 'run'],
  schedule_last_success_timestamp_seconds: ['When a run last ended with exit code 0 or 3.', 'run'],
} as const satisfies Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;

type MetricName = keyof typeof METRICS;
type Put = (
  name: MetricName,
  value: number | undefined,
  labels?: Readonly<Record<string, string>>,
) => void;
type Look = (put: Put) => void | Promise<void>;

/** Redis may not answer, and Prometheus waits for ten seconds. */
const LONGEST_LOOK_MS = 3_000;

/** @param about the command that runs, such as `worker`, and its version */
export function createMetrics(about: {
  readonly command: string;
  readonly version: string;
}): Metrics {
  const runs = new Map<string, () => RunView>();
  const looks = new Set<Look>([
    (put) => put('build_info', 1, { ...about }),
    (put) => runs.forEach((read, run) => putRun(put, run, read())),
  ]);
  const onScrape = (look: Look): (() => void) => {
    looks.add(look);
    return () => void looks.delete(look);
  };
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    text: async () => {
      const registry = new Registry();
      const put = putInto(registry);
      const all = [...looks].map((look) => within(LONGEST_LOOK_MS, Promise.resolve(look(put))));
      await Promise.all(all);
      return await Registry.merge([registryOfNode(), registry]).metrics();
    },
    forRun: (run, read) => void runs.set(run, read),
    forQueues: (read) => onScrape(async (put) => await putQueues(put, read)),
    forCollector: (counts) =>
      void onScrape((put) => {
        put('collected_outcomes_total', counts.enriched, { file: 'enriched' });
        put('collected_outcomes_total', counts.failures, { file: 'failures' });
      }),
    forSchedules: (read) =>
      void onScrape(async (put) => {
        for (const job of await read().catch(() => [])) putSchedule(put, job);
      }),
  };
}

/** Makes each metric when it has its first value. */
function putInto(registry: Registry): Put {
  const meters = new Map<MetricName, Gauge | Counter>();
  return (name, value, labels = {}) => {
    const [help, ...labelNames] = METRICS[name];
    const options = { name: `brandfill_${name}`, help, labelNames, registers: [registry] };
    const Meter = name.endsWith('_total') ? Counter : Gauge;
    const meter = meters.get(name) ?? new Meter(options);
    meters.set(name, meter);
    if (value !== undefined) meter.inc(labels, value);
  };
}

function putRun(put: Put, run: string, view: RunView): void {
  const { wait, latency } = view;
  const isShut = wait?.why === 'stated' || wait?.why === 'backing_off';
  put('lookups_due', view.due, { run });
  put('lookups_under_way', view.underWay, { run });
  put('calls_total', view.calls, { run });
  put('throttled_calls_total', view.throttled, { run });
  put('retries_total', view.retries, { run });
  put('billed_units_total', view.bill?.units, { run });
  put('api_outage', wait?.why === 'outage' ? 1 : 0, { run });
  put('pace_limit_calls_per_second', view.limit?.limitPerSecond, { run });
  put('pace_gate_closed_seconds', isShut ? (wait.leftMs ?? 0) / 1_000 : 0, { run });
  for (const [outcome, count] of Object.entries(view.outcomes)) {
    put('lookups_total', count, { run, outcome });
  }
  for (const { answer, calls } of view.answers) put('answers_total', calls, { run, answer });
  if (!latency) return;
  put('call_duration_seconds', latency.p50Ms / 1_000, { run, quantile: '0.5' });
  put('call_duration_seconds', latency.p95Ms / 1_000, { run, quantile: '0.95' });
}

async function putQueues(put: Put, read: ReadQueues): Promise<void> {
  const reading = await read().catch(() => undefined);
  put('redis_up', reading ? 1 : 0);
  if (!reading) return;
  put('queue_workers', reading.workers);
  for (const { queue, jobs, uncollected } of reading.queues) {
    for (const state of JOB_STATES) {
      put('queue_jobs', jobs[state], { queue, state: state === 'wait' ? 'waiting' : state });
    }
    put('queue_uncollected', uncollected, { queue });
  }
}

/** From what Redis knows of a schedule, which outlives the process. */
function putSchedule(put: Put, { job: run, nextAt, results }: ScheduledJob): void {
  const seconds = (time: string): number => Date.parse(time) / 1_000;
  const [last] = results;
  const good = results.find(({ exitCode }) => isDone(exitCode));
  put('schedule_next_run_timestamp_seconds', seconds(nextAt), { run });
  if (good) put('schedule_last_success_timestamp_seconds', seconds(good.finishedAt), { run });
  if (!last) return;
  put('schedule_last_run_timestamp_seconds', seconds(last.finishedAt), { run });
  put('schedule_last_run_exit_code', last.exitCode, { run });
}

let ofNode: Registry | undefined;

/** Memory, CPU, the lag of the event loop: once for a process, since prom-client does not stop watching. */
function registryOfNode(): Registry {
  if (!ofNode) {
    ofNode = new Registry();
    collectDefaultMetrics({ register: ofNode });
  }
  return ofNode;
}
