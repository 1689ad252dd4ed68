import type { OutcomeStatus } from '../brand/outcome.ts';
import type { CallCounters } from '../common/call-counters.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { ReadQueues } from '../queue/bullmq/queues.ts';
import type { RunEvent } from '../watch/events.ts';

/** The part of a worker of this process that metrics read. */
export interface WorkerSight {
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
