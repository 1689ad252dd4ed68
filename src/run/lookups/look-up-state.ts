import type { RowIndex } from '../../collector/row-index.ts';
import type { CallCounters } from '../../common/calls.ts';
import type { RunControl } from '../../common/run-control.ts';
import type { Job } from '../../options/api.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { RunEvent } from '../../watch/events.ts';
import type { Metrics } from '../../watch/metrics.ts';
import type { RunRecorder } from '../../watch/record-run.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { createStopSwitch, type StopSwitch } from '../../worker/stop-switch.ts';
import { createTally, type ProgressOptions, type Tally } from './progress.ts';

/** The progress of a run's lookups. */
export interface LookUpState {
  /** Domains under way. */
  readonly outstanding: Set<string>;
  readonly tally: Tally;
  readonly stopSwitch: StopSwitch;
  /** Whether there was no worker at the last check. */
  isAlone: boolean;
}

export function createLookUpState({ domains }: LookUpAllOptions): LookUpState {
  return {
    outstanding: new Set(),
    tally: createTally((domain) => domains.get(domain) ?? 0),
    stopSwitch: createStopSwitch(),
    isAlone: false,
  };
}

/** Domains that are looked up before all others. */
export interface SampleFirst {
  readonly domains: ReadonlySet<string>;
  /**
   * Called when all of them have an outcome, before any other is asked. Progress stands still
   * meanwhile.
   *
   * @throws whatever ends the run
   */
  onOver(counters: CallCounters): Promise<void>;
}

/** The options of a run's lookups. */
export interface LookUpAllOptions {
  readonly job: Job;
  /** The name of the run: the same for the same list on the same store. */
  readonly name: string;
  /** The name of the list, for people. */
  readonly list: string;
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  readonly plan: ProgressOptions['plan'];
  /** In how many rows each domain is. */
  readonly domains: ReadonlyMap<string, number>;
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
  readonly isFresh: (domain: string) => boolean;
  /** Whether a domain is given out before the others. @default none */
  readonly isFirst: ((domain: string) => boolean) | undefined;
  /** @default none */
  readonly sample?: SampleFirst | undefined;
  /** Stops the run; calls under way get ten seconds. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** Measures its queues. @default not measured */
  readonly onQueues?: Metrics['forQueues'] | undefined;
  /** Steers the run meanwhile. @default no control */
  readonly control?: RunControl | undefined;
  /** Whether a user tries a single domain. @default false */
  readonly isTrial?: boolean;
  /** Called for calls that are made here. @default no callback */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  /** Called for calls that are made here, if there is a report. */
  readonly report?: { readonly recorder: Pick<RunRecorder, 'answered'> } | undefined;
}
