import type { RunControl } from '../common/run-control.ts';
import { createRunId } from '../common/run-id.ts';
import type { RunEvent } from '../watch/events.ts';
import type { RunContext } from './run-context.ts';

/** What a caller gives besides settings. */
export interface CallerOptions extends Pick<RunContext, 'confirm' | 'changesId'> {
  readonly signal?: AbortSignal | undefined;
  readonly runId?: string | undefined;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  readonly control?: RunControl | undefined;
}

export interface CallersContext {
  readonly context: RunContext;
  /**
   * To be called when the run is over.
   *
   * @throws what `onEvent` threw first, or its promise was rejected with
   */
  readonly assertHeard: () => void;
}

/**
 * Makes the context of a run for a caller. An `onEvent` that throws stops the run in order: much is
 * told by timers, where an error of its own would end the whole process.
 */
export function createContext({
  signal,
  runId = createRunId(),
  onEvent = () => {},
  confirm,
  control,
  changesId,
}: CallerOptions): CallersContext {
  const deaf = new AbortController();
  const fail = (error: unknown): void => deaf.abort(error);
  const tell = (event: RunEvent): void => {
    if (deaf.signal.aborted) return;
    try {
      const told: unknown = onEvent(event);
      if (told instanceof Promise) told.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
  const stops = [signal, control?.stopped, deaf.signal].filter((stop) => stop !== undefined);
  const context = {
    runId,
    signal: AbortSignal.any(stops),
    onEvent: tell,
    confirm,
    control,
    changesId,
  };
  return { context, assertHeard: () => deaf.signal.throwIfAborted() };
}
