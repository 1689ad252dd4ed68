import { createHearing } from '../common/hearing.ts';
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

/** Makes the context of a run for a caller. An `onEvent` that throws stops the run in order. */
export function createContext({
  signal,
  runId = createRunId(),
  onEvent = () => {},
  confirm,
  control,
  changesId,
}: CallerOptions): CallersContext {
  const hearing = createHearing([signal, control?.stopped]);
  const context = {
    runId,
    signal: hearing.signal,
    onEvent: hearing.guard(onEvent),
    confirm,
    control,
    changesId,
  };
  return { context, assertHeard: () => hearing.assertHeard() };
}
