import type { ScheduleOptions } from '../index.ts';
import type { Log } from '../watch/views/log.ts';
import { createProgressLines } from '../watch/views/progress-lines.ts';
import {
  type ConsoleView,
  createConsoleView,
  createLogView,
  quietView,
} from '../watch/views/views.ts';

/** Writes the events of runs to a log; as text, each line begins with the name of its job. */
export function createRunViews(
  log: Log,
): Required<Pick<ScheduleOptions, 'onRunEvent' | 'onRunEnd'>> {
  const views = new Map<string, ConsoleView>();
  const open = (job: string, run: string): ConsoleView => {
    const view =
      log.format === 'json'
        ? createLogView(log.with({ job, run }), 'auto')
        : textView(job, log.with({ run }));
    views.set(job, view);
    return view;
  };
  return {
    onRunEvent: (job, event, run) => (views.get(job) ?? open(job, run)).show(event),
    onRunEnd: (job) => {
      views.get(job)?.end();
      views.delete(job);
    },
  };
}

function textView(job: string, log: Log): ConsoleView {
  const write = (line: string): void => {
    log.write('error', `${job}: ${line}`); // the log leaves out what is below its level
  };
  const view = createConsoleView({ write, progress: createProgressLines(write) });
  const least = log.tells('info') ? 'info' : log.tells('warn') ? 'warn' : 'error';
  return quietView(view, least);
}
