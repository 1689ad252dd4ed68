import { EXIT } from '../../common/errors.ts';
import { withoutSecrets } from '../../common/secrets.ts';
import { printable, printableLines } from '../../common/text.ts';
import { oneOf } from '../../options/kinds.ts';
import { type Options, option, type SettingsOf, under } from '../../options/option.ts';
import { inFlags } from '../../options/options.ts';
import { type ProfiledSettings, readWithProfile } from '../../profile/job.ts';
import { chooseFormat, type Log, type LogFields, openLog } from '../../watch/log.ts';

/** The process that runs a command, as far as commands need it. */
export interface ProcessContext {
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
  /** Sends error messages to a log. @default on standard error, as text */
  readonly reportTo: (log: Log) => void;
}

/** What was typed. */
interface Typed {
  /** The command, such as `store get`. */
  readonly name: string;
  /** What is no option, such as the path of a list. */
  readonly words: readonly string[];
  /** All of it, as one types it into a shell. */
  readonly line: string;
  /** Options by their names, unread. */
  readonly typed: Readonly<Record<string, unknown>>;
  readonly context: ProcessContext;
}

/** What a command is given: what was typed, and its options, read and checked. */
export type Call<D extends Options = Readonly<Record<never, never>>> = Typed & ProfiledSettings<D>;

/** A command of the command line. */
export interface Command {
  readonly options: Options;
  /** Does it. Returns the exit code. */
  run(typed: Typed): Promise<number>;
}

/**
 * Defines a command by its options and what it does, which returns the exit code if it is not 0.
 */
export function defineCommand<D extends Options>(
  options: D,
  run: (call: Call<D>) => Promise<number | void>,
): Command {
  return {
    options,
    run: async (typed) => {
      const read = readWithProfile(typed.name, options, { given: typed.typed });
      return (await run({ ...typed, ...read })) ?? EXIT.ok;
    },
  };
}

/** A text as this process shows it: options by their flags, no credential. */
export const shownText = (text: string): string => inFlags(withoutSecrets(text));

/** Writes a line for people, on standard error. */
export function say(message: string): void {
  process.stderr.write(`${printable(shownText(message))}\n`);
}

/** Writes what a command was asked for, on standard output. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.map((line) => printableLines(inFlags(line))).join('\n')}\n`);
}

export const LOG_OPTIONS = under('What is shown', {
  logLevel: option(oneOf('debug', 'info', 'warn', 'error'), {
    env: 'BRANDFILL_LOG_LEVEL',
    default: 'info',
    placeholder: 'LEVEL',
    help: 'least severe level to log, on standard error: debug, info, warn or error',
  }),
  logFormat: option(oneOf('auto', 'text', 'json'), {
    env: 'BRANDFILL_LOG_FORMAT',
    default: 'auto',
    placeholder: 'FORMAT',
    help: 'text for people, or json with one object per line; auto is text (for a run, without times and its id), or json if NODE_ENV is production and standard error is not a terminal',
  }),
});

/** Opens the log of a command; errors are written to it as well. */
export function openCommandLog(
  { logLevel, logFormat }: SettingsOf<typeof LOG_OPTIONS>,
  fields: LogFields,
  context: ProcessContext,
): Log {
  const { stderr } = process;
  const log = openLog({
    format: chooseFormat(logFormat, { isTTY: stderr.isTTY, env: process.env }),
    level: logLevel,
    stream: stderr,
    redact: shownText,
    fields,
  });
  context.reportTo(log);
  return log;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does some work with a signal that fires at the first Ctrl-C, SIGTERM or SIGHUP. The second one
 * ends the process at once.
 */
export async function untilInterrupted<T>(
  endAtOnce: ProcessContext['endAtOnce'],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const handle = (): void => {
    if (controller.signal.aborted) endAtOnce(EXIT.interrupted);
    else controller.abort();
  };
  for (const name of SIGNALS) process.on(name, handle);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, handle);
  }
}
