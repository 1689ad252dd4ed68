import {
  BrandfillError,
  describeError,
  EXIT,
  exitCodeOfError,
  type OnNotice,
} from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { printable, printableLines } from '../common/text.ts';
import type { LOG_FLAGS } from '../options/command-options.ts';
import type { Options, SettingsOf } from '../options/option.ts';
import { chooseFormat, type Log, type LogFields, openLog } from '../watch/log.ts';

/** The process that runs a command, as far as commands need it. */
export interface ProcessContext {
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
  /** Sends error messages to a log. @default on standard error, as text */
  readonly reportTo: (log: Log) => void;
}

/** What was typed. */
export interface Call<F extends Options> {
  /** What is no option, such as the path of a list. */
  readonly words: readonly string[];
  /** Options as the library takes them, which also reads and checks them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Options that only the command line has, read and checked. */
  readonly flags: SettingsOf<F>;
  readonly context: ProcessContext;
}

/** Does what a command is for. Returns the exit code. */
export type RunCommand<F extends Options = Readonly<Record<never, never>>> = (
  call: Call<F>,
) => Promise<number>;

/** Writes a line for people, on standard error. */
export function say(message: string): void {
  process.stderr.write(`${printable(withoutSecrets(message))}\n`);
}

/** Writes what a command was asked for, on standard output. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.map(printableLines).join('\n')}\n`);
}

/** Opens the log of a command; errors are written to it as well. */
export async function openCommandLog(
  { logLevel, logFormat }: SettingsOf<typeof LOG_FLAGS>,
  fields: LogFields,
  context: ProcessContext,
): Promise<Log> {
  const { stderr } = process;
  const log = await openLog({
    format: chooseFormat(logFormat, { isTTY: stderr.isTTY, env: process.env }),
    level: logLevel,
    stream: stderr,
    redact: withoutSecrets,
    fields,
  });
  context.reportTo(log);
  return log;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does some work with a signal that fires at the first Ctrl-C, SIGTERM or SIGHUP. The second one ends
 * the process at once.
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

/** What a command works with that goes on until it is told to stop. */
export interface Service {
  readonly log: Log;
  /** Writes a line for people to the log. */
  readonly say: (message: string) => void;
  /** Options that its function of the library takes. */
  readonly common: { readonly signal: AbortSignal; readonly onNotice: OnNotice };
}

/**
 * Runs a command that goes on until it is told to stop.
 *
 * @param stopping what is said when it is told to. @default nothing
 */
export async function serve<T>(
  command: string,
  { flags, context }: Pick<Call<typeof LOG_FLAGS>, 'flags' | 'context'>,
  work: (service: Service) => Promise<T>,
  stopping?: string,
): Promise<T> {
  const log = await openCommandLog(flags, { command }, context);
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const say = (message: string): void => log.write('info', message);
    if (stopping !== undefined) signal.addEventListener('abort', () => say(stopping));
    const onNotice: OnNotice = (message, { level = 'warn', ...facts } = {}) =>
      log.write(level, message, facts);
    return await work({ log, say, common: { signal, onNotice } });
  });
}

/**
 * Ignores a signal that comes when a command has ended by itself, since it would replace the
 * command's exit code. A second signal of the same kind ends the process, should it hang.
 */
export function letLateSignalPass(): void {
  for (const name of SIGNALS) process.once(name, () => {});
}

/** Reports an error on standard error, and returns the exit code to end with. */
export function reportError(error: unknown, log?: Log): number {
  const code = exitCodeOfError(error);
  const isExpected = code !== EXIT.unexpected || error instanceof BrandfillError;
  const message = isExpected
    ? describeError(error)
    : 'Something unexpected happened, please report it.';
  const stack = isExpected ? undefined : stackOf(error);
  if (log && log.format !== 'shown') {
    log.write('error', message, { event: 'error', exitCode: code, ...(stack && { stack }) });
    if (log.format === 'text')
      for (const line of stack?.split('\n') ?? []) log.write('error', line);
  } else {
    const text = `brandfill: ${message}${stack === undefined ? '' : `\n${stack}`}`;
    process.stderr.write(`${printableLines(withoutSecrets(text))}\n`);
  }
  return code;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
