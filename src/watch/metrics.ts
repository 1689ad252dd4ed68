import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { isDone } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import type { QueueReading, ReadQueues } from '../queue/board.ts';
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

/** Each with its help, and its value, or one for each value of a label. */
type Table<T> = Readonly<
  Record<string, readonly [help: string, of: (from: T) => Value, label?: string]>
>;
type Value = number | Readonly<Record<string, number>> | undefined;

const OF_PROCESS: Table<unknown> = {
  build_info: ['Always 1; says which command of which version this is.', () => 1],
};

const OF_RUN: Table<RunView> = {
  lookups_due: ['Lookups needed for the run.', (run) => run.due],
  lookups_total: ['Lookups by outcome.', (run) => run.outcomes, 'outcome'],
  lookups_under_way: ['Lookups handed out, without an outcome yet.', (run) => run.underWay],
  calls_total: ['HTTP requests, throttled ones included.', (run) => run.calls],
  answers_total: ['Calls by HTTP status, or why none came.', (run) => run.answers, 'answer'],
  call_duration_seconds: ['Half, or 95 % of the calls took no longer.', durationsOf, 'quantile'],
  throttled_calls_total: ['Calls refused for the moment (429 …).', (run) => run.throttled],
  retries_total: ['Retries of lookups after a failure.', (run) => run.retries],
  billed_units_total: ['What the API billed, in its unit.', (run) => run.bill?.units],
  api_outage: ['1 while the API is out, else 0.', ({ wait }) => (wait?.why === 'outage' ? 1 : 0)],
  pace_limit_calls_per_second: ['Rate limit, if known.', (run) => run.limit?.limitPerSecond],
  pace_gate_closed_seconds: ['How long the API has all calls wait; 0 while they go.', shutFor],
};

const OF_REDIS: Table<QueueReading | undefined> = {
  redis_up: ['1 if the Redis of the queue answers, else 0.', (redis) => (redis ? 1 : 0)],
  queue_workers: ['Workers on all queues, on all machines.', (redis) => redis?.workers],
};

const OF_QUEUE: Table<QueueReading['queues'][number]> = {
  queue_jobs: ['Jobs on the queue of an API by state.', jobsOf, 'state'],
  queue_uncollected: ['Entries with outcomes, not collected yet.', (queue) => queue.uncollected],
};

const OF_COLLECTOR: Table<Collected> = {
  collected_outcomes_total: ['Outcomes written, by the kind of file.', (counts) => counts, 'file'],
};

/** From what Redis knows of a schedule, which outlives the process. */
const OF_SCHEDULE: Table<ScheduledJob> = {
  schedule_next_run_timestamp_seconds: ['When the job is due.', (job) => secondsOf(job.nextAt)],
  schedule_last_run_timestamp_seconds: ['End of the last run.', (job) => endOf(job.results[0])],
  schedule_last_run_exit_code: ['Exit code of the last run.', (job) => job.results[0]?.exitCode],
  schedule_last_success_timestamp_seconds: [
    'End of the last run with exit code 0 or 3.',
    ({ results }) => endOf(results.find(({ exitCode }) => isDone(exitCode))),
  ],
};

/** All of them, with the labels that each of a table has. */
export const METRICS: readonly (readonly [table: Table<never>, ...labels: string[]])[] = [
  [OF_PROCESS, 'command', 'version'],
  [OF_RUN, 'run'],
  [OF_REDIS],
  [OF_QUEUE, 'queue'],
  [OF_COLLECTOR],
  [OF_SCHEDULE, 'run'],
];

function durationsOf({ latency }: RunView): Value {
  return latency && { '0.5': latency.p50Ms / 1_000, '0.95': latency.p95Ms / 1_000 };
}

function shutFor({ wait: { why, leftMs = 0 } = { why: 'rate' } }: RunView): number {
  return why === 'stated' || why === 'backing_off' ? leftMs / 1_000 : 0;
}

function jobsOf({ jobs: { wait = 0, ...others } }: QueueReading['queues'][number]): Value {
  return { waiting: wait, ...others };
}

function endOf(result: ScheduledJob['results'][number] | undefined): Value {
  return result && secondsOf(result.finishedAt);
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000;
}

type Labels = Readonly<Record<string, string>>;
type Put = <T>(table: Table<T>, from: T, labels: Labels) => void;
type Look = (put: Put) => void | Promise<void>;

/** Redis may not answer, and Prometheus waits for ten seconds. */
const LONGEST_LOOK_MS = 3_000;

/** @param about the command that runs, such as `worker`, and its version */
export function createMetrics(about: { command: string; version: string }): Metrics {
  const runs = new Map<string, () => RunView>();
  const looks = new Set<Look>([
    (put) => put(OF_PROCESS, undefined, about),
    (put) => runs.forEach((read, run) => put(OF_RUN, read(), { run })),
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
    forQueues: (read) =>
      onScrape(async (put) => {
        const reading = await read().catch(() => undefined);
        put(OF_REDIS, reading, {});
        for (const of of reading?.queues ?? []) put(OF_QUEUE, of, { queue: of.queue });
      }),
    forCollector: (counts) => void onScrape((put) => put(OF_COLLECTOR, counts, {})),
    forSchedules: (read) =>
      void onScrape(async (put) => {
        for (const of of await read().catch(() => [])) put(OF_SCHEDULE, of, { run: of.job });
      }),
  };
}

/** Makes each metric when it has its first value. */
function putInto(registry: Registry): Put {
  const put = (name: string, help: string, labels: Labels, value: number): void => {
    const Meter = name.endsWith('_total') ? Counter : Gauge;
    const options = { name, help, labelNames: Object.keys(labels), registers: [registry] };
    const known = registry.getSingleMetric(name) as Counter | Gauge | undefined;
    (known ?? new Meter(options)).inc(labels, value);
  };
  return (table, from, labels) => {
    for (const [key, [help, of, label = '']] of Object.entries(table)) {
      const name = `brandfill_${key}`;
      const value = of(from);
      if (typeof value === 'number') put(name, help, labels, value);
      for (const [each, amount] of Object.entries(typeof value === 'object' ? value : {})) {
        put(name, help, { ...labels, [label]: each }, amount);
      }
    }
  };
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
