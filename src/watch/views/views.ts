import { printable } from '../../common/text.ts';
import { describeStop, describeSummary } from '../describe/describe.ts';
import { describeInput, describePlan, inputBlock, planBlock } from '../describe/describe-plan.ts';
import type { Progress, RunEvent } from '../events.ts';
import type { Summary } from '../summary.ts';
import type { Log, LogFields, LogLevel } from './log.ts';
import type { ProgressStyle } from './open-progress-view.ts';
import { createProgressLines, NO_PROGRESS, type ProgressView } from './progress-lines.ts';

/**
 * Shows a run on the console: how the input was understood, the plan, progress, and how it ended.
 */
export interface ConsoleView {
  readonly show: (event: RunEvent) => void;
  finish(summary: Summary): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

export interface ConsoleViewOptions {
  /** Takes a line, without its end. */
  readonly write: (line: string) => void;
  readonly progress: ProgressView;
  /**
   * Whether somebody sits there who will be asked to confirm: the plan then takes more room.
   * @default false
   */
  readonly isTerminal?: boolean;
  /** The id of the run in logs, for the plan on a terminal. @default it is not shown */
  readonly runId?: string;
  /** Takes secrets out of a text. @default leaves it as it is */
  readonly redact?: (text: string) => string;
}

export function createConsoleView({
  write,
  progress,
  isTerminal = false,
  runId,
  redact = (text) => text,
}: ConsoleViewOptions): ConsoleView {
  const say = (line: string): void => {
    progress.giveWay();
    write(printable(redact(line)));
  };
  return {
    show: (event) => {
      switch (event.type) {
        case 'opened':
          return (isTerminal ? inputBlock(event) : [describeInput(event)]).forEach(say);
        case 'planned':
          return (isTerminal ? planBlock(event.plan, runId) : describePlan(event.plan)).forEach(
            say,
          );
        case 'notice':
          return say(`Note: ${event.message}`);
        case 'stopping':
          return say(describeStop(event.stop));
        case 'progress':
          return progress.show(event);
        case 'logos':
          return progress.showLogos(event);
        case 'rows':
          return progress.showRows(event);
        case 'writing':
          return progress.end();
      }
    },
    finish: (summary) => {
      progress.end();
      describeSummary(summary).forEach(say);
    },
    end: () => progress.end(),
  };
}

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
