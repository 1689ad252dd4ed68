import type { RunControl } from '../common/run-control.ts';
import type { RunAction, RunState } from './board.ts';

/** Applies an action to a run; returns why it cannot be done. */
export function applyAction(
  run: Pick<RunState, 'actions' | 'phase'>,
  control: RunControl,
  action: RunAction,
): string | undefined {
  if (!run.actions.includes(action) || run.phase === 'ended')
    return `This cannot be done now: the run is ${PHASES[run.phase]}.`;
  switch (action) {
    case 'pause':
      control.pause();
      break;
    case 'resume':
      control.resume();
      break;
    case 'stop':
      control.stop();
      break;
    case 'retry':
      control.retryFailures();
      break;
  }
  return undefined;
}

const PHASES: Readonly<Record<RunState['phase'], string>> = {
  reading: 'still reading its list',
  looking_up: 'as it was asked to be already, or has no failures',
  saving_logos: 'saving logos',
  stopping: 'stopping',
  writing: 'writing its files',
  ended: 'over',
  lost: 'gone',
};
