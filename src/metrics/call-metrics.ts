import { type Counter, Histogram, type HistogramConfiguration } from 'prom-client';
import type { OutcomeStatus } from '../brand/outcome.ts';
import { type CallCounters, createCallCounters } from '../common/calls.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { Metrics, WorkerProbe, WorkerSight } from './metrics.ts';

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
  const lookups = metrics.counter(
    'brandfill_lookups_total',
    'Lookups that this process made, by outcome.',
    ['outcome'],
  );
  const calls = metrics.counter(
    'brandfill_calls_total',
    'Finished HTTP requests to the API, by status class: none if there was no answer, other if the status has no class.',
    ['status'],
  );
  const duration = new PlainHistogram({
    name: 'brandfill_call_duration_seconds',
    help: 'Duration of calls, from the start to the last byte of the answer.',
    buckets: DURATION_BUCKETS,
    registers: [metrics.registry],
  });
  const throttled = metrics.counter(
    'brandfill_throttled_calls_total',
    'Calls that the API refused for the moment (429 and the like).',
  );
  const retries = metrics.counter('brandfill_retries_total', 'Retries of lookups after a failure.');
  const billed = metrics.counter(
    'brandfill_billed_units_total',
    'What the API billed, in the unit of its profile, such as credits; 0 where no profile says what it bills. The label api tells the two APIs of a run with --then apart.',
    ['api'],
  );
  const inFlight = metrics.gauge(
    'brandfill_calls_in_flight',
    'Calls in flight, which have no answer yet.',
  );
  const mostInFlight = metrics.gauge(
    'brandfill_calls_in_flight_limit',
    'Maximum number of calls in flight at the same time, as set by --concurrency.',
  );
  const outage = metrics.gauge(
    'brandfill_api_outage',
    '1 while no call starts because of an outage of the API, else 0.',
  );

  const outcomes: Record<OutcomeStatus, number> = {
    found: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
    pending: 0,
  };
  const byClass = STATUS_CLASSES.map(() => 0);
  const before = createCallCounters();
  const billedBefore = new Map<string | undefined, number>();
  const workers = new Set<WorkerSight>();
  let ended = 0;

  function billedMicros(sights: readonly WorkerSight[]): ReadonlyMap<string | undefined, number> {
    const sums = new Map<string | undefined, number>([[undefined, 0], ...billedBefore]);
    for (const { api, counters } of sights) addTo(sums, api, counters.billedMicros);
    if (sums.size > 1 && sums.get(undefined) === 0) sums.delete(undefined);
    return sums;
  }

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
    billed.reset();
    for (const [api, micros] of billedMicros(sights)) {
      billed.inc(api === undefined ? {} : { api }, micros / 1_000_000);
    }
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
        addTo(billedBefore, sight.api, counters.billedMicros);
        endPace();
      },
    };
  };
}

function addTo<K>(sums: Map<K, number>, key: K, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
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

/**
 * A histogram without labels that keeps plain numbers until a scrape. The one of prom-client looks
 * up labels and bucket by name at every value. That takes some two microseconds, more than a
 * hundredth of a lookup.
 */
export class PlainHistogram extends Histogram {
  /** Upper bounds, in order. */
  readonly #bounds: readonly number[];
  /** How many values are in each bucket; the last one has those beyond all bounds. */
  readonly #counts: number[];
  #sum = 0;

  constructor(options: Omit<HistogramConfiguration<string>, 'labelNames'> & { buckets: number[] }) {
    super(options);
    this.#bounds = options.buckets;
    this.#counts = Array.from({ length: options.buckets.length + 1 }, () => 0);
  }

  /** Counts a value; replaces `observe`. */
  add(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
  }

  /** The registry calls this, and `get` as well. */
  async getForPromString(): Promise<object> {
    const { name, help, type, aggregator } = this as unknown as Described;
    let total = 0;
    const sharedLabels = {};
    const buckets = [...this.#bounds, '+Inf'].map((le, at) => {
      total += this.#counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: total };
    });
    const values = [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: this.#sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: total },
    ];
    return { name, help, type, aggregator, values };
  }
}

/** Fields that every metric of prom-client has, though its types do not say so. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
}

const STATES: readonly PaceDescription['why'][] = [
  'open',
  'starting',
  'holding',
  'probing',
  'told_to_wait',
  'backing_off',
];

/**
 * Metrics of the pace. Returns a function that measures a worker until it is told that the worker
 * ended.
 */
function createPaceMetrics(
  metrics: Metrics,
): (sight: WorkerSight, run: string | undefined) => () => void {
  const rate = metrics.gauge(
    'brandfill_pace_rate_calls_per_second',
    'Current rate at which calls may start, per second.',
    ['run'],
  );
  const limit = metrics.gauge(
    'brandfill_pace_limit_calls_per_second',
    'Rate limit of the API, if known: fixed by --rate, published by the API, or learned.',
    ['run', 'source'],
  );
  const concurrency = metrics.gauge(
    'brandfill_pace_concurrency_limit',
    'Maximum number of calls at the same time that the API allows, if it was found to limit them.',
    ['run'],
  );
  const gate = metrics.gauge(
    'brandfill_pace_gate_closed_seconds',
    'Time until calls may start again; 0 when the gate is open.',
    ['run'],
  );
  const state = metrics.gauge(
    'brandfill_pace_state',
    '1 for the current state of the pace, 0 for all others.',
    ['run', 'state'],
  );
  const workers = new Map<WorkerSight, string | undefined>();

  function look(): void {
    for (const gauge of [rate, limit, concurrency, gate, state]) gauge.reset();
    for (const [sight, run] of workers) set(sight.pace(), runLabel(run));
  }

  function set(pace: PaceDescription, labels: Readonly<Record<string, string>>): void {
    rate.set(labels, pace.ratePerSecond);
    const { limitIs, learnedLimitPerSecond, concurrencyLimit } = pace;
    const perSecond = limitIs === 'fixed' ? pace.ratePerSecond : learnedLimitPerSecond;
    if (perSecond !== undefined) limit.set({ ...labels, source: limitIs }, perSecond);
    if (concurrencyLimit !== undefined) concurrency.set(labels, concurrencyLimit);
    gate.set(labels, pace.waitMs / 1_000);
    for (const why of STATES) state.set({ ...labels, state: why }, why === pace.why ? 1 : 0);
  }

  metrics.onScrape(look);
  return (sight, run) => {
    workers.set(sight, run);
    return () => void workers.delete(sight);
  };
}

/** The label of a run. Not `job`: Prometheus has a label of that name itself. */
function runLabel(run: string | undefined): { readonly run?: string } {
  return run === undefined ? {} : { run };
}
