import { printable } from '../common/text.ts';
import {
  describeInput,
  describePlan,
  describeStop,
  describeSummary,
  inOneLine,
} from './describe.ts';
import type { RunEvent } from './events.ts';
import type { Log, LogLevel } from './log.ts';
import { createProgressLines, NO_PROGRESS, openProgressBlock, type Progress } from './progress.ts';
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
  readonly progress: Progress;
  /** Shown to somebody who will be asked to confirm. */
  readonly runId?: string | undefined;
}

function createDisplay({ write, progress, runId }: DisplayOptions): RunDisplay {
  const recorder = recordRun({ runId: '' });
  return {
    show: (event) => {
      recorder.onEvent(event);
      const { type } = event;
      const facts = type === 'notice' ? {} : event;
      const say = (level: LogLevel, lines: readonly string[]): void =>
        progress.aside(() => write(level, lines, { ...facts, type: undefined, event: type }));
      switch (event.type) {
        case 'opened':
          return say('info', describeInput(event));
        case 'planned':
          return say('info', describePlan(event.plan, runId));
        case 'notice':
          return say(event.level ?? 'warn', [event.message]);
        case 'stopping':
          return say('warn', [describeStop(event.stop)]);
        case 'writing':
          return progress.end();
        default:
          if (('total' in event ? event.total : event.due) === 0) return;
          return progress.show(recorder.read(), type);
      }
    },
    finish: (summary) => {
      progress.end();
      write('info', describeSummary(summary), { event: 'finished', summary });
    },
    end: () => progress.end(),
  };
}

export interface OpenDisplayOptions {
  readonly log: Log;
  readonly runId: string;
  readonly level: LogLevel;
  readonly redact: (text: string) => string;
  /** Where it is shown; standard error, so that rows on standard output stay clean. */
  readonly stream: NodeJS.WriteStream;
  /** Whether somebody sits there who can be asked. */
  readonly isAsked: boolean;
}

/** Opens what suits a command that makes one run. */
export async function openDisplay(options: OpenDisplayOptions): Promise<RunDisplay> {
  const { log, runId, level, redact, stream, isAsked } = options;
  if (log.format !== 'shown') return logDisplay(log);
  const canRedraw = stream.isTTY && process.env['TERM'] !== 'dumb';
  const isQuiet = level === 'warn' || level === 'error';
  const lines = createProgressLines((line) => void stream.write(`${line}\n`));
  const shown = canRedraw ? await openProgressBlock(stream) : lines;
  return createDisplay({
    write: (of, lines, facts) => {
      if (isQuiet && !(level === 'warn' && of === 'warn')) return;
      const start = 'event' in facts && facts.event === 'notice' ? 'Note: ' : '';
      for (const line of lines) stream.write(`${printable(redact(start + line))}\n`);
    },
    progress: isQuiet ? NO_PROGRESS : shown,
    runId: isAsked ? runId : undefined,
  });
}

/** A line for each event; for programs, what happened is in `event`, with its numbers. */
function logDisplay(log: Log, start = ''): RunDisplay {
  const write: DisplayOptions['write'] = (level, lines, facts) =>
    log.write(level, `${start}${inOneLine(lines)}`, { ...facts });
  const lines = createProgressLines((line, view, event) => {
    const { rowsSoFar, outcomes, lookups, due, calls, retries, throttled } = view;
    const facts = { event, rowsSoFar, outcomes, lookups, due, calls, retries, throttled };
    write('info', [line], facts);
  });
  return createDisplay({ write, progress: lines });
}

/** Shows a run in the log of a process that makes the runs of several jobs. */
export function openJobDisplay(log: Log, facts: { job: string; run: string }): RunDisplay {
  return logDisplay(log.with(facts), log.format === 'json' ? '' : `${facts.job}: `);
}
