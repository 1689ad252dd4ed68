import type { RunControl } from '../common/run-control.ts';
import type { RunInstruments } from '../metrics/instruments.ts';
import type { Plan } from '../producer/plan.ts';
import type { OtherFiles } from '../report/report-files.ts';
import type { RunRecorder } from '../report/run-recorder.ts';
import type { RunEvent } from '../watch/events.ts';

/** What a run takes from outside. */
export interface RunContext {
  /** What the run is called in logs and in its summary. */
  readonly runId: string;
  /** Stops the run in order: no new call, calls under way get ten seconds, rows are written. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** Asked before the first call; false ends it as the signal would. @default nobody is asked */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** What the changes file is called from run to run. @default its path */
  readonly changesId?: string | undefined;
  /** What measures it. @default nothing */
  readonly instruments?: RunInstruments | undefined;
  /** Steers the run while it goes on. @default nobody does */
  readonly control?: RunControl | undefined;
  /**
   * Somebody tries a domain: the first call has to be answered as it should be, and what could not be
   * asked is no business of the next run.
   *
   * @default false
   */
  readonly isTrial?: boolean;
  /** What its report wants of it. @default no report */
  readonly report?: RunReporting | undefined;
}

/** The report of a run that is going on. */
export interface RunReporting {
  readonly recorder: RunRecorder;
  /**
   * To be called as soon as it is known which files the run has.
   *
   * @throws BrandfillError `INVALID_SETTING`, `OUTPUT_IN_USE`, `UNWRITABLE_OUTPUT`
   */
  openFiles(others: OtherFiles): Promise<void>;
}
