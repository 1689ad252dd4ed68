import { Counter, Gauge } from 'prom-client';
import type { OutcomeStatus } from '../brand/outcome.ts';
import { type CallCounters, createCallCounters } from '../common/call-counters.ts';
import type { WorkerProbe, WorkerSight } from './instruments.ts';
import type { Metrics } from './metrics.ts';
import { createPaceMetrics } from './pace-metrics.ts';
import { PlainHistogram } from './plain-histogram.ts';

/** Measures the calls of a worker, under the name of its run if it works for one. */
export type MeasureWorker = (sight: WorkerSight, run: string | undefined) => WorkerProbe;

/** `other` is for statuses without a class in HTTP, such as 999. */
const STATUS_CLASSES = ['none', '2xx', '3xx', '4xx', '5xx', 'other'] as const;
/** From a cache nearby to the longest time that a call may take, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Metrics of calls and lookups. Each call adds to plain numbers; everything else is read off at a
 * scrape.
 */
export function createCallMetrics(metrics: Metrics): MeasureWorker {
  const registers = [metrics.registry];
  const lookups = new Counter({
    name: 'brandfill_lookups_total',
    help: 'Lookups that this process made, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const calls = new Counter({
    name: 'brandfill_calls_total',
    help: 'Finished HTTP requests to the API, by status class: none if there was no answer, other if the status has no class.',
    labelNames: ['status'],
    registers,
  });
  const duration = new PlainHistogram({
    name: 'brandfill_call_duration_seconds',
    help: 'Duration of calls, from the start to the last byte of the answer.',
    buckets: DURATION_BUCKETS,
    registers,
  });
  const throttled = new Counter({
    name: 'brandfill_throttled_calls_total',
    help: 'Calls that were answered 429.',
    registers,
  });
  const retries = new Counter({
    name: 'brandfill_retries_total',
    help: 'Retries of lookups after a failure.',
    registers,
  });
  const inFlight = new Gauge({
    name: 'brandfill_calls_in_flight',
    help: 'Calls in flight, which have no answer yet.',
    registers,
  });
  const mostInFlight = new Gauge({
    name: 'brandfill_calls_in_flight_limit',
    help: 'Maximum number of calls in flight at the same time, as set by --concurrency.',
    registers,
  });
  const outage = new Gauge({
    name: 'brandfill_api_outage',
    help: '1 while no call starts because of an outage of the API, else 0.',
    registers,
  });

  const outcomes: Record<OutcomeStatus, number> = {
    found: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
    pending: 0,
  };
  const byClass = STATUS_CLASSES.map(() => 0);
  const before = createCallCounters();
  const workers = new Set<WorkerSight>();
  let ended = 0;

  metrics.onScrape(() => {
    const sights = [...workers];
    const total = (key: keyof CallCounters): number =>
      sights.reduce((sum, { counters }) => sum + counters[key], before[key]);
    setCounter(lookups, 'outcome', Object.entries(outcomes));
    setCounter(
      calls,
      'status',
      STATUS_CLASSES.map((name, at) => [name, byClass[at] ?? 0]),
    );
    throttled.reset();
    throttled.inc(total('throttled'));
    retries.reset();
    retries.inc(total('retries'));
    inFlight.set(total('calls') - ended);
    mostInFlight.set(sights.reduce((sum, { concurrency }) => sum + concurrency, 0));
    outage.set(sights.some(({ isOut }) => isOut()) ? 1 : 0);
  });
  const measurePace = createPaceMetrics(metrics);

  return (sight, run) => {
    workers.add(sight);
    const endPace = measurePace(sight, run);
    return {
      onCallEnd: (httpStatus, latencyMs) => {
        ended += 1;
        const index = classIndexOf(httpStatus);
        byClass[index] = (byClass[index] ?? 0) + 1;
        duration.add(latencyMs / 1_000);
      },
      onOutcome: (status) => {
        outcomes[status] += 1;
      },
      end: () => {
        if (!workers.delete(sight)) return;
        const { counters } = sight;
        before.calls += counters.calls;
        before.throttled += counters.throttled;
        before.retries += counters.retries;
        endPace();
      },
    };
  };
}

/** The index of a status's class in that list. */
function classIndexOf(httpStatus: number | undefined): number {
  if (httpStatus === undefined) return 0;
  const index = Math.floor(httpStatus / 100) - 1;
  return index >= 1 && index <= 4 ? index : STATUS_CLASSES.length - 1;
}

function setCounter(
  counter: Counter,
  label: string,
  values: readonly (readonly [string, number])[],
): void {
  counter.reset();
  for (const [name, value] of values) counter.inc({ [label]: name }, value);
}
