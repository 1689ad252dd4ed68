import type { RunEvent } from '../events.ts';
import type { ConsoleView } from './console-view.ts';
import type { LogLevel } from './log.ts';

/** Leaves out everything below a level: with `warn` the plan, the progress and the summary. */
export function quietView(view: ConsoleView, least: LogLevel): ConsoleView {
  if (least === 'debug' || least === 'info') return view;
  return {
    show: (event) => {
      if (least === 'warn' && isWarning(event)) view.show(event);
    },
    finish: () => {},
    end: () => view.end(),
  };
}

function isWarning(event: RunEvent): boolean {
  return event.type === 'stopping' || (event.type === 'notice' && event.level !== 'info');
}
