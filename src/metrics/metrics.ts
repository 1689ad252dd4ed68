import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { OutcomeStatus } from '../brand/outcome.ts';
import type { CallCounters } from '../common/calls.ts';
import { within } from '../common/lifetime.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { ReadQueues } from '../queue/bullmq/queues.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Routes } from '../web/listener.ts';

/** The metrics of a process. They are computed at a scrape, and cost next to nothing until then. */
export interface Metrics {
  /** Where metrics are added. */
  readonly registry: Registry;
  /** Adds a metric. @param labels the names of its labels. @default none */
  gauge(name: string, help: string, labels?: readonly string[]): Gauge;
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  /** Brings metrics up to date at each scrape. Returns a function that ends that. */
  onScrape(look: () => void | Promise<void>): () => void;
  /** All of them, in the text format of Prometheus. */
  text(): Promise<string>;
}

/** Other facts of a process. */
export interface ProcessFacts {
  /** The command that runs, such as `worker`. */
  readonly command: string;
  readonly version: string;
}

/**
 * These names end in `_total`, but the metrics are no counters: tools that check the conventions
 * reject them.
 */
const MISNAMED: ReadonlySet<string> = new Set([
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]);
/** Redis may not answer, and Prometheus waits for ten seconds. */
const LONGEST_LOOK_MS = 3_000;

/** Begins with the metrics of Node.js: memory, CPU, the lag of the event loop. */
export function createMetrics({ command, version }: ProcessFacts): Metrics {
  const registry = new Registry();
  for (const metric of metricsOfNode()) registry.registerMetric(metric);
  new Gauge({
    name: 'brandfill_build_info',
    help: 'Always 1; says which command of which version this is.',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set({ command, version }, 1);
  const looks = new Set<() => void | Promise<void>>();
  let looking: Promise<void> | undefined;

  async function lookAtAll(): Promise<void> {
    await Promise.all(
      [...looks].map(async (look) => {
        await within(LONGEST_LOOK_MS, Promise.resolve(look()));
      }),
    );
  }

  const registers = [registry];
  return {
    registry,
    gauge: (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers }),
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    onScrape: (look) => {
      looks.add(look);
      return () => looks.delete(look);
    },
    text: async () => {
      // Scrapes that come meanwhile get the same text: one look is enough for all.
      looking ??= lookAtAll().finally(() => {
        looking = undefined;
      });
      await looking;
      return await registry.metrics();
    },
  };
}

let ofNode: readonly Metric[] | undefined;

/**
 * The metrics of Node.js, which all runs of a process share. Each further set would watch the event
 * loop and the garbage collector until the process ends, since prom-client cannot stop that.
 */
function metricsOfNode(): readonly Metric[] {
  if (ofNode) return ofNode;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  ofNode = names
    .filter((name) => !MISNAMED.has(name))
    .map((name) => registry.getSingleMetric(name))
    .filter((metric) => metric !== undefined);
  return ofNode;
}

/** `/metrics`, in the text format of Prometheus. */
export function metricsRoutes(metrics: Metrics): Routes {
  return (app) => {
    app.get('/metrics', async (context) => {
      const type = metrics.registry.contentType;
      return context.body(await metrics.text(), 200, { 'content-type': type });
    });
  };
}

/** The part of a worker of this process that metrics read. */
export interface WorkerSight {
  /** The name of the API, where a run asks two. */
  readonly api?: string;
  /** Most calls at the same time. */
  readonly concurrency: number;
  readonly counters: Readonly<CallCounters>;
  readonly pace: () => PaceDescription;
  /** Whether no call starts because the API is out. */
  readonly isOut: () => boolean;
}

/** Called with what a worker does, for as long as it works. */
export interface WorkerProbe {
  /** A call ended; without a status when there was no answer. */
  readonly onCallEnd: (httpStatus: number | undefined, latencyMs: number) => void;
  /** A lookup ended. */
  readonly onOutcome: (status: OutcomeStatus) => void;
  readonly end: () => void;
}

/** How far a run is ahead of its workers. */
export interface WindowSight {
  /** Lookups on their way. */
  readonly outstanding: () => number;
  /** Most of them at the same time. */
  readonly most: number;
}

/** Measures what a process does. */
export interface Instruments {
  readonly worker: (sight: WorkerSight) => WorkerProbe;
  /** Returns a function that ends it. */
  readonly queues: (read: ReadQueues) => () => void;
}

/** The same for one run, until it is over. */
export interface RunInstruments extends Instruments {
  readonly onEvent: (event: RunEvent) => void;
  readonly window: (sight: WindowSight) => void;
  readonly end: () => void;
}
