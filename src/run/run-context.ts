import { createRunId } from '../common/hashes.ts';
import { createCallbackGuard } from '../common/lifetime.ts';
import type { RunControl } from '../common/run-control.ts';
import type { RunInstruments } from '../metrics/metrics.ts';
import type { Plan } from '../producer/plan.ts';
import type { OtherFiles } from '../report/report-files.ts';
import type { RunRecorder } from '../report/run-recorder.ts';
import type { RunEvent } from '../watch/events.ts';
import type { AnsweredCall } from '../worker/lookup.ts';

/** Options of a caller besides settings. */
export interface CallerOptions extends Pick<RunContext, 'confirm' | 'changesId'> {
  readonly signal?: AbortSignal | undefined;
  readonly runId?: string | undefined;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  readonly control?: RunControl | undefined;
  readonly mended?: Readonly<Record<string, string>> | undefined;
  readonly onlyMended?: boolean | undefined;
}

export interface CallersContext {
  readonly context: RunContext;
  /**
   * Must be called when the run is over.
   *
   * @throws the first error that `onEvent` threw, or with which its promise was rejected
   */
  readonly throwIfFailed: () => void;
}

/** Makes the context of a run for a caller. If `onEvent` throws, the run is stopped in order. */
export function createContext({
  signal,
  runId = createRunId(),
  onEvent = () => {},
  confirm,
  control,
  changesId,
  mended,
  onlyMended = false,
}: CallerOptions): CallersContext {
  const callbackGuard = createCallbackGuard([signal, control?.stopped]);
  const context = {
    runId,
    signal: callbackGuard.signal,
    onEvent: callbackGuard.guard(onEvent),
    confirm,
    control,
    changesId,
    mended: mended && { cells: toCells(mended), isOnly: onlyMended },
  };
  return { context, throwIfFailed: () => callbackGuard.throwIfFailed() };
}

function toCells(mended: Readonly<Record<string, string>>): MendedCells['cells'] {
  return new Map(Object.entries(mended).map(([row, text]) => [Number(row), text]));
}

/** The surroundings of a run. */
export interface RunContext {
  /** The id of the run in logs and in its summary. */
  readonly runId: string;
  /** Stops the run in order: no new call, calls under way get ten seconds, rows are written. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** Asked before the first call. False ends the run as the signal would. @default no question */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** The name of the changes file from run to run. @default its path */
  readonly changesId?: string | undefined;
  /** Measures the run. @default not measured */
  readonly instruments?: RunInstruments | undefined;
  /** Steers the run while it goes on. @default no control */
  readonly control?: RunControl | undefined;
  /**
   * Whether a user tries a single domain. The first call must then get a normal answer, and a
   * domain that could not be asked is not left over for the next run.
   *
   * @default false
   */
  readonly isTrial?: boolean;
  /** Cells of the domain column that were corrected since the list was made. @default none */
  readonly mended?: MendedCells | undefined;
  /** The most rows without a domain that a plan shows. @default 3 */
  readonly mostExamples?: number | undefined;
  /** Called for every answer to a call that is made here. @default no callback */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  /** Records the run for its report. @default no report */
  readonly report?: RunReporting | undefined;
}

/** Cells that were corrected, and what is to be done about them. */
export interface MendedCells {
  /** Their texts by the number of their row, from 1. */
  readonly cells: ReadonlyMap<number, string>;
  /** Whether no other rows are looked up, and these get what is known of them. */
  readonly isOnly: boolean;
}

/** The report of a run in progress. */
interface RunReporting {
  readonly recorder: RunRecorder;
  /**
   * Must be called as soon as the files of the run are known.
   *
   * @throws BrandfillError `INVALID_SETTING`, `OUTPUT_IN_USE`, `UNWRITABLE_OUTPUT`
   */
  openFiles(others: OtherFiles): Promise<void>;
}
