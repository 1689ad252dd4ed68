import type { RunControl } from '../../common/run-control.ts';
import type { RunEvent } from '../../watch/events.ts';

/** Reports what was asked of a run to viewers elsewhere. Returns a function that ends that. */
export function tellOfControl(
  control: RunControl | undefined,
  onEvent: (event: RunEvent) => void,
): () => void {
  if (!control) return () => {};
  let { isPaused, isRetryWanted } = control;
  const tell = (message: string): void => onEvent({ type: 'notice', message });
  return control.onChange(() => {
    if (control.isPaused !== isPaused && !control.stopped.aborted) {
      tell(control.isPaused ? 'Paused: no new call starts until it is resumed.' : 'Resumed.');
    }
    if (control.isRetryWanted && !isRetryWanted) {
      tell('Failed lookups are tried once more after all others.');
    }
    ({ isPaused, isRetryWanted } = control);
  });
}
