import type { Plan } from '../collector/first-reading.ts';
import type { FileAccess } from '../common/files.ts';
import { createRunId } from '../common/hashes.ts';
import { createCallbackGuard } from '../common/lifetime.ts';
import type { RunControl } from '../common/run-control.ts';
import type { Job } from '../profile/job.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Metrics } from '../watch/metrics.ts';
import type { RunRecorder } from '../watch/record-run.ts';
import type { AnsweredCall } from '../worker/lookup.ts';

/** Options of a caller besides settings. */
export interface CallerOptions extends Pick<RunContext, 'confirm' | 'changesId' | 'runName'> {
  readonly signal?: AbortSignal | undefined;
  readonly runId?: string | undefined;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  readonly control?: RunControl | undefined;
}

/**
 * Makes the context of a run for a caller. If `onEvent` throws, the run is stopped in order, and
 * `throwIfFailed`, which must be called when the run is over, throws that.
 */
export function createContext({
  signal,
  runId = createRunId(),
  onEvent = () => {},
  confirm,
  control,
  changesId,
  runName,
}: CallerOptions) {
  const callbackGuard = createCallbackGuard([signal, control?.stopped]);
  const context: RunContext = {
    runId,
    signal: callbackGuard.signal,
    onEvent: callbackGuard.guard(onEvent),
    confirm,
    control,
    changesId,
    runName,
  };
  return { context, throwIfFailed: () => callbackGuard.throwIfFailed() };
}

/** Tells whoever watches a run of something, in a sentence. */
export function notify(
  { onEvent }: Pick<RunContext, 'onEvent'>,
  message: string,
  { level }: { readonly level?: 'info' | 'warn' } = {},
): void {
  onEvent({ type: 'notice', message, ...(level && { level }) });
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
  /**
   * By which a run that was killed is known when it is started again.
   *
   * @default the path of its list
   */
  readonly runName?: string | undefined;
  /** Measures its queues. @default not measured */
  readonly onQueues?: Metrics['forQueues'] | undefined;
  /** Steers the run while it goes on. @default no control */
  readonly control?: RunControl | undefined;
  /**
   * Whether a user tries a single domain. The first call must then get a normal answer, and a
   * domain that could not be asked is not left over for the next run.
   *
   * @default false
   */
  readonly isTrial?: boolean;
  /** Called for every answer to a call that is made here. @default no callback */
  readonly onCall?: ((call: AnsweredCall, api: Job) => void) | undefined;
  /** Records the run. @default not recorded, as a trial is not */
  readonly report?: RunReporting | undefined;
}

/** The report of a run in progress. */
interface RunReporting {
  readonly recorder: Pick<RunRecorder, 'answered' | 'beginRows'>;
  /**
   * Must be called as soon as the files of the run are known.
   *
   * @param from the files that it reads
   * @throws BrandfillError `UNWRITABLE_OUTPUT`
   */
  openFiles(from: readonly FileAccess[]): Promise<void>;
}
