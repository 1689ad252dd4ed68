import type { StopSwitch } from '../../worker/stop-switch.ts';
import type { LookUpAllOptions } from './look-up-options.ts';

const DRAIN_MS = 10_000;

/**
 * Stops the lookups of a run when its signal fires. Calls under way get ten seconds. Any stop is
 * reported, except for errors, which are reported separately. Returns a function that removes the
 * listeners.
 */
export function stopOnSignal(
  stopSwitch: StopSwitch,
  { signal, onEvent }: Pick<LookUpAllOptions, 'signal' | 'onEvent'>,
): () => void {
  let drain: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    stopSwitch.stop({ reason: 'interrupted' });
    drain = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), DRAIN_MS);
  };
  stopSwitch.noNewCall.addEventListener('abort', () => {
    const { stopped } = stopSwitch;
    if (stopped && stopped.reason !== 'error') onEvent({ type: 'stopping', stop: stopped });
  });
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  return () => {
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
  };
}
