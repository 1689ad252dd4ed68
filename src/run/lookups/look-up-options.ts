import type { RunControl } from '../../common/run-control.ts';
import type { Job } from '../../job/job.ts';
import type { RunInstruments } from '../../metrics/instruments.ts';
import type { DomainRows } from '../../producer/domain-rows.ts';
import type { RowIndex } from '../../producer/row-index.ts';
import type { RunRecorder } from '../../report/run-recorder.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { RunEvent } from '../../watch/events.ts';
import type { ProgressOptions } from './tell-progress.ts';

/** What the lookups of a run are made of. */
export interface LookUpAllOptions {
  readonly job: Job;
  /** The same for the same list on the same store. */
  readonly name: string;
  /** What the list is called, for people. */
  readonly list: string;
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  readonly plan: ProgressOptions['plan'];
  /** How many rows have a domain. */
  readonly domainRows: Pick<DomainRows, 'rowsOf'>;
  readonly startedAtMs: number;
  /** The time of the run, in milliseconds since 1970: never goes back. */
  readonly now: () => number;
  readonly isFresh: (domain: string) => boolean;
  /** Stops the run; calls under way get ten seconds. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** What measures it. @default nothing */
  readonly instruments?: RunInstruments | undefined;
  /** Steers it meanwhile. @default nobody does */
  readonly control?: RunControl | undefined;
  /** Whether somebody tries a domain. @default false */
  readonly isTrial?: boolean;
  /** Told of the calls that are made here, where a report is wanted. */
  readonly report?: { readonly recorder: Pick<RunRecorder, 'answered'> } | undefined;
}
