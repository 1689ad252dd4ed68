import type { RunControl } from '../../common/run-control.ts';
import type { RunInstruments } from '../../metrics/metrics.ts';
import type { Job } from '../../options/api.ts';
import type { DomainRows } from '../../producer/distinct-domains.ts';
import type { RowIndex } from '../../producer/row-index.ts';
import type { RunRecorder } from '../../report/run-recorder.ts';
import type { OutcomeStore } from '../../store/store.ts';
import { createRecentOutcomes, type RecentOutcomes, type RunEvent } from '../../watch/events.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { createStopSwitch, type StopSwitch } from '../../worker/stop-switch.ts';
import { createTally, type ProgressOptions, type Tally } from './progress.ts';

/** The progress of a run's lookups. */
export interface LookUpState {
  /** Domains under way. */
  readonly outstanding: Set<string>;
  readonly tally: Tally;
  readonly recent: RecentOutcomes;
  readonly stopSwitch: StopSwitch;
  /** Whether there was no worker at the last check. */
  isAlone: boolean;
  /** Lookups that another run has under way, once only those are left to give out. */
  awaited: number | undefined;
}

export function createLookUpState({ domainRows }: LookUpAllOptions): LookUpState {
  return {
    outstanding: new Set(),
    tally: createTally(domainRows.rowsOf),
    recent: createRecentOutcomes(),
    stopSwitch: createStopSwitch(),
    isAlone: false,
    awaited: undefined,
  };
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
  /** The number of rows of a domain. */
  readonly domainRows: Pick<DomainRows, 'rowsOf'>;
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
  readonly isFresh: (domain: string) => boolean;
  /** Stops the run; calls under way get ten seconds. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** Measures the lookups. @default not measured */
  readonly instruments?: RunInstruments | undefined;
  /** Steers the run meanwhile. @default no control */
  readonly control?: RunControl | undefined;
  /** Whether a user tries a single domain. @default false */
  readonly isTrial?: boolean;
  /** Called for calls that are made here. @default no callback */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  /** Called for calls that are made here, if there is a report. */
  readonly report?: { readonly recorder: Pick<RunRecorder, 'answered'> } | undefined;
}
