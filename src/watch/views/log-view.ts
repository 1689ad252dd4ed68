import { describeStop, describeSummary } from '../describe/describe.ts';
import { describeInput, describePlan } from '../describe/describe-plan.ts';
import type { Progress, RunEvent } from '../events.ts';
import type { ConsoleView } from './console-view.ts';
import type { Log, LogFields } from './log.ts';
import type { ProgressStyle } from './open-progress-view.ts';
import { createProgressLines } from './progress-lines.ts';
import { NO_PROGRESS } from './progress-view.ts';

/** Logs a run for programs: what happens is in `event`, with its numbers. */
export function createLogView(log: Log, progress: ProgressStyle | 'auto'): ConsoleView {
  let fields: LogFields = {};
  // A line every few seconds, whatever was asked for: nobody looks at a bar in a log.
  const lines =
    progress === 'none'
      ? NO_PROGRESS
      : createProgressLines((line) => log.write('info', line, fields));
  return {
    show: (event) => {
      if (event.type === 'progress') {
        fields = { event: 'progress', ...numbersOf(event) };
        return lines.show(event);
      }
      if (event.type === 'logos') {
        if (fields['event'] === 'progress') lines.end();
        fields = { event: 'logos', total: event.total };
        return lines.showLogos(event);
      }
      if (event.type === 'rows') {
        fields = { event: 'rows', written: event.written, total: event.total };
        return lines.showRows(event);
      }
      lines.end();
      tell(event, log);
    },
    finish: (summary) => {
      lines.end();
      const [first = '', ...others] = describeSummary(summary);
      log.write(
        'info',
        [first, ...others.map((line) => line.trim().replaceAll(/ {2,}/g, ' '))].join('; '),
        {
          event: 'finished',
          summary,
        },
      );
    },
    end: () => lines.end(),
  };
}

/** The numbers that fit into a line. */
function numbersOf(progress: Progress): LogFields {
  const { lookups, done, outcomes, rows, calls, retries, throttled, waitMs } = progress;
  const { pace, outage, isPaused, heldBy } = progress;
  const elapsedMs = Math.round(progress.elapsedMs);
  const counts = { lookups, done, outcomes, rows, calls, retries, throttled, elapsedMs };
  return { ...counts, waitMs, pace, outage, isPaused, heldBy };
}

function tell(event: Exclude<RunEvent, { type: 'progress' | 'logos' | 'rows' }>, log: Log): void {
  const { type, ...facts } = event;
  const fields = { event: type, ...facts };
  switch (event.type) {
    case 'opened':
      return log.write('info', describeInput(event), fields);
    case 'planned':
      return log.write('info', describePlan(event.plan).join('; '), fields);
    case 'notice':
      return log.write(event.level ?? 'warn', event.message, { event: type });
    case 'stopping':
      return log.write('warn', describeStop(event.stop), fields);
    case 'writing':
      return log.write('debug', `All lookups ended; ${event.rows} rows are written.`, fields);
  }
}
