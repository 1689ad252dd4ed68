import type { RunControl } from '../../common/run-control.ts';
import type { Job } from '../../job/job.ts';
import type { RunInstruments } from '../../metrics/instruments.ts';
import type { DomainRows } from '../../producer/domain-rows.ts';
import type { RowIndex } from '../../producer/row-index.ts';
import type { RunRecorder } from '../../report/run-recorder.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { RunEvent } from '../../watch/events.ts';
import type { ProgressOptions } from './tell-progress.ts';

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
  /** Called for calls that are made here, if there is a report. */
  readonly report?: { readonly recorder: Pick<RunRecorder, 'answered'> } | undefined;
}
