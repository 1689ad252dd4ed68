import { createCallbackGuard } from '../common/callback-guard.ts';
import type { RunControl } from '../common/run-control.ts';
import { createRunId } from '../common/run-id.ts';
import type { RunEvent } from '../watch/events.ts';
import type { RunContext } from './run-context.ts';

/** Options of a caller besides settings. */
export interface CallerOptions extends Pick<RunContext, 'confirm' | 'changesId'> {
  readonly signal?: AbortSignal | undefined;
  readonly runId?: string | undefined;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  readonly control?: RunControl | undefined;
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
}: CallerOptions): CallersContext {
  const callbackGuard = createCallbackGuard([signal, control?.stopped]);
  const context = {
    runId,
    signal: callbackGuard.signal,
    onEvent: callbackGuard.guard(onEvent),
    confirm,
    control,
    changesId,
  };
  return { context, throwIfFailed: () => callbackGuard.throwIfFailed() };
}
