import { createCallMetrics } from './call-metrics.ts';
import { type CollectSight, measureCollector } from './collect-metrics.ts';
import type { Instruments, RunInstruments } from './instruments.ts';
import type { Metrics } from './metrics.ts';
import { createQueueMetrics } from './queue-metrics.ts';
import { createRunMetrics } from './run-metrics.ts';
import { measureSchedules, type ReadSchedules } from './schedule-metrics.ts';
import { createStoreMetrics } from './store-metrics.ts';

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
