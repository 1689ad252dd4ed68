import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { isDone } from '../common/errors.ts';
import { within } from '../common/lifetime.ts';
import type { QueueReading, ReadQueues } from '../queue/board.ts';
import type { ScheduledJob } from '../queue/schedules.ts';
import type { RunView, SourceView } from './run-view.ts';

/** What is measured of a run, or of a worker. */
export type Measured = Pick<RunView, 'outcomes' | 'calls' | 'throttled' | 'answers'> &
  Partial<Pick<RunView, 'due' | 'latency' | 'bill' | 'limit' | 'wait' | 'sources'>>;

/** Each with its help, and its value, or one for each value of a label. */
type Table<T> = Readonly<
  Record<string, readonly [help: string, of: (from: T) => Value, label?: string]>
>;
type Value = number | Readonly<Record<string, number>> | undefined;

const OF_RUN: Table<Measured> = {
  lookups_due: ['Lookups needed for the run.', (run) => run.due],
  lookups_total: ['Lookups by outcome.', (run) => run.outcomes, 'outcome'],
  calls_total: ['HTTP requests, throttled ones included.', (run) => run.calls],
  answers_total: ['Calls by HTTP status, or why none came.', (run) => run.answers, 'answer'],
  call_duration_seconds: ['Half, or 95 % of the calls took no longer.', durationsOf, 'quantile'],
  throttled_calls_total: ['Calls refused for the moment (429 …).', (run) => run.throttled],
  billed_units_total: ['What the API billed, in its unit.', (run) => run.bill?.units],
  source_calls_total: bySource('Calls by API, of several.', ({ calls }) => calls),
  source_found_total: bySource('Domains found by API, of several.', ({ found }) => found),
  source_billed_units_total: bySource('Billed by API, of several.', ({ bill }) => bill?.units),
  source_limit_calls_per_second: bySource(
    'Limit by API, of several.',
    ({ limit }) => limit?.limitPerSecond,
  ),
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

/** From what Redis knows of a schedule, which outlives the process. */
const OF_SCHEDULE: Table<ScheduledJob> = {
  schedule_next_run_timestamp_seconds: ['When the job is due.', (job) => secondsOf(job.nextAt)],
  schedule_last_run_exit_code: ['Exit code of the last run.', (job) => job.results[0]?.exitCode],
  schedule_last_success_timestamp_seconds: [
    'End of the last run with exit code 0 or 3.',
    ({ results }) => secondsOf(results.find(({ exitCode }) => isDone(exitCode))?.finishedAt),
  ],
};

/** All of them, with the label that each of a table has. */
export const METRICS: readonly (readonly [table: Table<never>, label?: string])[] = [
  [OF_RUN, 'run'],
  [OF_REDIS],
  [OF_QUEUE, 'queue'],
  [OF_SCHEDULE, 'run'],
];

function bySource(help: string, of: (source: SourceView) => number | undefined) {
  const read = ({ sources }: Measured): Value =>
    sources && Object.fromEntries(sources.map((source) => [source.name, of(source) ?? 0]));
  return [help, read, 'source'] as const;
}

function durationsOf({ latency }: Measured): Value {
  return latency && { '0.5': latency.p50Ms / 1_000, '0.95': latency.p95Ms / 1_000 };
}

function shutFor({ wait: { why, leftMs = 0 } = { why: 'rate' } }: Measured): number {
  return why === 'stated' || why === 'backing_off' ? leftMs / 1_000 : 0;
}

function jobsOf({ jobs: { wait = 0, ...others } }: QueueReading['queues'][number]): Value {
  return { waiting: wait, ...others };
}

function secondsOf(time: string | undefined): Value {
  return time === undefined ? undefined : Date.parse(time) / 1_000;
}

type Look = (registry: Registry) => Promise<void>;

/** Redis may not answer, and Prometheus waits for ten seconds. */
const LONGEST_LOOK_MS = 3_000;

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of a process. All are read off at a scrape, and cost next to nothing until then. */
export function createMetrics() {
  const runs = new Map<string, () => Measured>();
  const looks = new Set<Look>([
    async (registry) => runs.forEach((read, run) => put(registry, OF_RUN, read(), { run })),
  ]);
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    /** All of them, in the text format of Prometheus. */
    text: async (): Promise<string> => {
      const registry = new Registry();
      await Promise.all([...looks].map((look) => within(LONGEST_LOOK_MS, look(registry))));
      return await Registry.merge([registryOfNode(), registry]).metrics();
    },
    /**
     * Of a run, by the name of its job file or command, until the next of that name; or of a
     * worker.
     */
    forRun: (run: string, read: () => Measured): void => void runs.set(run, read),
    /** Returns a function that ends it. */
    forQueues: (read: ReadQueues): (() => void) => {
      const look: Look = async (registry) => {
        const reading = await read().catch(() => undefined);
        put(registry, OF_REDIS, reading, {});
        for (const of of reading?.queues ?? []) put(registry, OF_QUEUE, of, { queue: of.queue });
      };
      looks.add(look);
      return () => void looks.delete(look);
    },
    forSchedules: (read: () => Promise<readonly ScheduledJob[]>): void =>
      void looks.add(async (registry) => {
        for (const of of await read().catch(() => [])) {
          put(registry, OF_SCHEDULE, of, { run: of.job });
        }
      }),
  };
}

/** Puts the values of a table into a registry. Each metric is made when it has its first value. */
function put<T>(
  registry: Registry,
  table: Table<T>,
  from: T,
  labels: Readonly<Record<string, string>>,
): void {
  for (const [key, [help, of, label = '']] of Object.entries(table)) {
    const name = `brandfill_${key}`;
    const Meter = name.endsWith('_total') ? Counter : Gauge;
    const value = of(from) ?? {};
    for (const [each, amount] of Object.entries(typeof value === 'number' ? { value } : value)) {
      const all = typeof value === 'number' ? labels : { ...labels, [label]: each };
      const known = registry.getSingleMetric(name) as Counter | Gauge | undefined;
      const options = { name, help, labelNames: Object.keys(all), registers: [registry] };
      (known ?? new Meter(options)).inc(all, amount);
    }
  }
}

let ofNode: Registry | undefined;

/**
 * Memory, CPU, the lag of the event loop: once for a process, since prom-client does not stop
 * watching.
 */
function registryOfNode(): Registry {
  if (!ofNode) {
    ofNode = new Registry();
    collectDefaultMetrics({ register: ofNode });
  }
  return ofNode;
}
