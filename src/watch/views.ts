import { printable } from '../common/text.ts';
import {
  describeInput,
  describePlan,
  describeSample,
  describeStop,
  describeSummary,
  inOneLine,
} from './describe.ts';
import type { RunEvent } from './events.ts';
import { chooseStyle, type Log, type LogLevel, type ProgressStyle } from './log.ts';
import {
  createProgressBlock,
  createProgressLines,
  NO_PROGRESS,
  type ProgressView,
} from './progress.ts';
import { recordRun } from './record-run.ts';
import type { Summary } from './run-view.ts';

/** Shows a run to the person who started it, or in a log: input, plan, progress, and how it ended. */
export interface RunDisplay {
  readonly show: (event: RunEvent) => void;
  finish(summary: Summary): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

interface DisplayOptions {
  /** Writes lines, with facts for programs. */
  readonly write: (level: LogLevel, lines: readonly string[], facts: object) => void;
  readonly progress: ProgressView;
  /** Shown to somebody who will be asked to confirm. */
  readonly runId?: string | undefined;
}

function createDisplay({ write, progress, runId }: DisplayOptions): RunDisplay {
  const recorder = recordRun({ runId: '' });
  const say = (level: LogLevel, lines: readonly string[], facts: object): void =>
    progress.aside(() => write(level, lines, facts));
  return {
    show: (event) => {
      recorder.onEvent(event);
      const { type, ...rest } = event;
      const facts = { event: type, ...rest };
      switch (event.type) {
        case 'opened':
          return say('info', describeInput(event), facts);
        case 'planned':
          return say('info', describePlan(event.plan, runId), facts);
        case 'sampled':
          progress.end();
          return say('info', describeSample(event), facts);
        case 'notice':
          return say(event.level ?? 'warn', [event.message], { event: type });
        case 'stopping':
          return say('warn', [describeStop(event.stop)], facts);
        case 'progress':
        case 'logos':
        case 'rows':
          if (('total' in event ? event.total : event.due) === 0) return;
          return progress.show(recorder.read(), event.type);
        case 'writing':
          progress.end();
          return say('debug', [`All lookups ended; ${event.rows} rows are written.`], facts);
      }
    },
    finish: (summary) => {
      progress.end();
      say('info', describeSummary(summary), { event: 'finished', summary });
    },
    end: () => progress.end(),
  };
}

export interface OpenDisplayOptions {
  readonly log: Log;
  readonly progress: ProgressStyle | 'auto';
  readonly runId: string;
  readonly level: LogLevel;
  readonly redact: (text: string) => string;
  /** Where it is shown; standard error, so that rows on standard output stay clean. */
  readonly stream: NodeJS.WriteStream;
  /** Whether somebody sits there who can be asked. */
  readonly isAsked: boolean;
}

/** Opens what suits a command that makes one run. */
export function openDisplay(options: OpenDisplayOptions): RunDisplay {
  const { log, progress, runId, level, redact, stream, isAsked } = options;
  if (log.format !== 'shown') return logDisplay(log, progress);
  const isQuiet = level === 'warn' || level === 'error';
  return createDisplay({
    write: (of, lines, facts) => {
      if (of === 'debug' || (isQuiet && !(level === 'warn' && of === 'warn'))) return;
      const start = 'event' in facts && facts.event === 'notice' ? 'Note: ' : '';
      for (const line of lines) stream.write(`${printable(redact(start + line))}\n`);
    },
    progress: isQuiet ? NO_PROGRESS : openProgress(progress, stream),
    runId: isAsked ? runId : undefined,
  });
}

function openProgress(wish: ProgressStyle | 'auto', stream: NodeJS.WriteStream): ProgressView {
  const style = chooseStyle(wish, { isTTY: stream.isTTY, env: process.env });
  if (style === 'bar') return createProgressBlock(stream);
  return style === 'none'
    ? NO_PROGRESS
    : createProgressLines((line) => void stream.write(`${line}\n`));
}

/** A line for each event; for programs, what happened is in `event`, with its numbers. */
function logDisplay(log: Log, progress: ProgressStyle | 'auto' = 'auto', start = ''): RunDisplay {
  const write: DisplayOptions['write'] = (level, lines, facts) =>
    log.write(level, `${start}${inOneLine(lines)}`, { ...facts });
  const lines = createProgressLines((line, view, event) => {
    const { rowsSoFar, outcomes, lookups, due, calls, retries, throttled } = view;
    const facts = { event, rowsSoFar, outcomes, lookups, due, calls, retries, throttled };
    write('info', [line], facts);
  });
  return createDisplay({ write, progress: progress === 'none' ? NO_PROGRESS : lines });
}

/** Shows a run in the log of a process that makes the runs of several jobs. */
export function openJobDisplay(log: Log, facts: { job: string; run: string }): RunDisplay {
  return logDisplay(log.with(facts), 'auto', log.format === 'json' ? '' : `${facts.job}: `);
}
