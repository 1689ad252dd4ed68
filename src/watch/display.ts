import { printable } from '../common/text.ts';
import { describeEnd, describeInput, describePlan, describeStop, inOneLine } from './describe.ts';
import type { RunEvent } from './events.ts';
import { isLogged, type Log, type LogFields, type LogLevel } from './log.ts';
import { createLines, NO_SURFACE, openBlock, type Surface } from './progress.ts';
import type { RunRecorder } from './record-run.ts';
import { howFar, inBrief, type RunView } from './run-view.ts';

/** Shows a run to the person who started it, or in a log: input, plan, progress, and how it ended. */
export interface RunDisplay {
  /** Must be called before the run begins, with what makes its view. A plan alone has none. */
  readonly onRecorder: (recorder: Pick<RunRecorder, 'read'>) => void;
  readonly show: (event: RunEvent) => void;
  finish(ended: RunView): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

/** Writes lines, with facts for programs. */
type Write = (level: LogLevel, lines: readonly string[], facts: LogFields) => void;

function createDisplay(write: Write, { draw, clear, leave }: Surface): RunDisplay {
  let recorder: Pick<RunRecorder, 'read'> | undefined;
  let drawn: RunView | undefined;
  const end = (): void => {
    if (drawn) leave(drawn);
    drawn = undefined;
  };
  const show = (view: RunView): void => {
    // Lookups, logos and rows that are written have each a place of their own.
    if (drawn && howFar(drawn).unit !== howFar(view).unit) end();
    drawn = view;
    draw(view);
  };
  return {
    onRecorder: (made) => {
      recorder = made;
    },
    show: (event) => {
      const { type, ...facts } = event;
      const say = (level: LogLevel, lines: readonly string[], more: LogFields = facts): void => {
        if (drawn) clear();
        write(level, lines, { ...more, event: type });
        if (drawn) draw(drawn);
      };
      switch (event.type) {
        case 'opened':
          return say('info', describeInput(event));
        case 'planned':
          return say('info', describePlan(event.plan));
        case 'notice':
          return say(event.level ?? 'warn', [event.message], {});
        case 'stopping':
          return say('warn', [describeStop(event.stop)]);
        default: {
          const view = recorder?.read();
          if (event.type === 'writing' && event.written === undefined) end();
          else if (view && (view.due > 0 || event.type !== 'progress')) show(view);
        }
      }
    },
    finish: (ended) => {
      end();
      write('info', describeEnd(ended), { event: 'finished', summary: inBrief(ended) });
    },
    end,
  };
}

export interface OpenDisplayOptions {
  readonly log: Log;
  readonly level: LogLevel;
  readonly progress: 'auto' | 'bar' | 'lines' | 'none';
  readonly redact: (text: string) => string;
  /** Where it is shown; standard error, so that rows on standard output stay clean. */
  readonly stream: NodeJS.WriteStream;
}

/** Opens what suits a command that makes one run. */
export async function openDisplay(options: OpenDisplayOptions): Promise<RunDisplay> {
  const { log, level, progress, redact, stream } = options;
  if (log.format !== 'shown') return logDisplay(log, { hasProgress: progress !== 'none' });
  const isBar = progress !== 'lines' && stream.isTTY && process.env['TERM'] !== 'dumb';
  const lines = createLines((line) => void stream.write(`${line}\n`));
  const surface = isBar ? await openBlock(stream) : lines;
  const write: Write = (of, lines, { event }) => {
    if (!isLogged(of, level)) return;
    const start = event === 'notice' ? 'Note: ' : '';
    for (const line of lines) stream.write(`${printable(redact(start + line))}\n`);
  };
  const isShown = progress !== 'none' && isLogged('info', level);
  return createDisplay(write, isShown ? surface : NO_SURFACE);
}

/** A line for each event; for programs, what happened is in `event`, with its numbers. */
function logDisplay(log: Log, { start = '', hasProgress = true }): RunDisplay {
  const write: Write = (level, lines, facts) =>
    log.write(level, `${start}${inOneLine(lines)}`, facts);
  const lines = createLines((line, view) => {
    const { statuses, outcomes, lookups, due, calls, retries, throttled } = view;
    const facts = { statuses, outcomes, lookups, due, calls, retries, throttled };
    write('info', [line], { event: 'progress', ...facts });
  });
  return createDisplay(write, hasProgress ? lines : NO_SURFACE);
}

/** Shows a run in the log of a process that makes the runs of several jobs. */
export function openJobDisplay(log: Log, facts: { job: string; run: string }): RunDisplay {
  const start = log.format === 'json' ? '' : `${facts.job}: `;
  return logDisplay(log.with(facts), { start });
}
