import { type Command, Option } from 'commander';
import {
  BrandfillError,
  describeError,
  EXIT,
  exitCodeOfError,
  type OnNotice,
} from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { printableLines } from '../common/text.ts';
import type { Declaration, Declarations } from '../options/declaration.ts';
import { flagOf } from '../options/options.ts';
import {
  chooseFormat,
  LOG_LEVELS,
  type Log,
  type LogFields,
  type LogLevel,
  openLog,
} from '../watch/log.ts';

/** The process that runs a command, as far as commands need it. */
export interface CliContext {
  /** Notes the exit code; the process ends when the command returns. */
  readonly finish: (code: number) => void;
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
  /** Sends error messages to a log. @default on standard error, as text */
  readonly reportTo: (log: Log) => void;
}

/** Gives a command an option for each of some settings. */
export function addSettings(command: Command, declared: Declarations): void {
  for (const [key, option] of Object.entries(declared)) command.addOption(optionOf(key, option));
  if ('apiKeyFile' in declared) command.addOption(credentialOption());
}

/**
 * An option that many other tools have and somebody may try. It is hidden, and refused with a
 * pointer to the right ones.
 */
function credentialOption(): Option {
  const refuse = (): never => {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot take a credential on the command line, where others on this machine can see it: set BRANDFILL_API_KEY, or give --api-key-file FILE.',
    );
  };
  return new Option('--api-key [KEY]').hideHelp().preset('').argParser(refuse);
}

/** The name of a setting in messages of commands where the list is an argument. */
export function flagOrArgument(key: string): string {
  return key === 'input' ? '<input>' : flagOf(key);
}

function optionOf(key: string, { kind, description, default: standard, env }: Declaration): Option {
  const value = kind.placeholder === undefined ? '' : ` <${kind.placeholder}>`;
  const option = new Option(`${flagOf(key)}${value}`, description);
  // `--no-header` is a switch of that name, not the opposite of `--header`.
  option.negate = false;
  // Commander's own defaults are not used: they would hide whether an option was given.
  const notes = [
    standard === undefined ? undefined : `default: ${standard}`,
    env === undefined ? undefined : `env: ${env}`,
    kind.isRepeatable ? 'repeatable' : undefined,
  ].filter((note) => note !== undefined);
  if (notes.length > 0) option.description += ` (${notes.join(', ')})`;
  if (kind.isRepeatable) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [
      ...(earlier ?? []),
      text,
    ]);
  }
  return option;
}

/** Gives a command that has a dashboard the flag for its token. */
export function addTokenFlag(command: Command): Command {
  return command.option(
    '--token <TOKEN>',
    'token for the dashboard; others on this machine can see it here, unlike with --token-file or BRANDFILL_DASHBOARD_TOKEN',
  );
}

/** Flags that say how a command logs. */
export interface LogFlags {
  readonly logLevel: LogLevel;
  readonly logFormat: 'auto' | 'text' | 'json';
}

/** Gives a command the flags of its log. */
export function addLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--log-level <level>', 'least severe level to log, on standard error')
        .choices(LOG_LEVELS)
        .default('info')
        .env('BRANDFILL_LOG_LEVEL'),
    )
    .addOption(
      new Option(
        '--log-format <format>',
        'text for people, or json with one object per line; auto is text (for a run, without times and its id), or json if NODE_ENV is production and standard error is not a terminal',
      )
        .choices(['auto', 'text', 'json'])
        .default('auto')
        .env('BRANDFILL_LOG_FORMAT'),
    );
}

/** Separates the flags of the log from the rest of what was typed. */
export function splitLogFlags(typed: Readonly<Record<string, unknown>>): {
  readonly logFlags: LogFlags;
  readonly others: Readonly<Record<string, unknown>>;
} {
  const { logLevel, logFormat, ...others } = typed;
  return { logFlags: { logLevel, logFormat } as LogFlags, others };
}

/** Writes the library's notices to a log. */
function noticesTo(log: Log): OnNotice {
  return (message, { level = 'warn', ...facts } = {}) => log.write(level, message, facts);
}

/** Opens the log of a command; errors are written to it as well. */
export async function openCommandLog(
  { logLevel, logFormat }: LogFlags,
  { fields, context }: { readonly fields: LogFields; readonly context: CliContext },
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

export interface Interrupt {
  /** Fires at the first signal. */
  readonly signal: AbortSignal;
  /** Does what a signal does. */
  readonly interrupt: () => void;
  /** Removes the signal handlers. */
  readonly dispose: () => void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Turns the first Ctrl-C, SIGTERM or SIGHUP into an abort signal, and lets the second end the
 * process at once.
 *
 * @param endAtOnce ends the process
 */
export function onInterrupt(endAtOnce: CliContext['endAtOnce']): Interrupt {
  const controller = new AbortController();
  const handle = (): void => {
    if (controller.signal.aborted) endAtOnce(EXIT.interrupted);
    else controller.abort();
  };
  for (const name of SIGNALS) process.on(name, handle);
  return {
    signal: controller.signal,
    interrupt: handle,
    dispose: () => {
      for (const name of SIGNALS) process.off(name, handle);
    },
  };
}

/** What a command works with that goes on until it is told to stop. */
export interface Service {
  readonly log: Log;
  /** Writes a line for people. */
  readonly say: (message: string) => void;
  /** Does what a signal does. */
  readonly interrupt: () => void;
  /** Options that its function of the library takes. */
  readonly common: { readonly signal: AbortSignal; readonly onNotice: OnNotice };
}

export interface ServeOptions {
  /** The name of the command. */
  readonly command: string;
  readonly logFlags: LogFlags;
  readonly context: CliContext;
  /** What is said when it is told to stop. @default nothing */
  readonly stopping?: string | undefined;
}

/** Runs a command that goes on until it is told to stop. Returns the exit code. */
export async function serve(
  { command, logFlags, context, stopping }: ServeOptions,
  work: (service: Service) => Promise<number>,
): Promise<number> {
  const log = await openCommandLog(logFlags, { fields: { command }, context });
  const { signal, interrupt, dispose } = onInterrupt(context.endAtOnce);
  const say = (message: string): void => log.write('info', message);
  if (stopping !== undefined) signal.addEventListener('abort', () => say(stopping));
  try {
    return await work({ log, say, interrupt, common: { signal, onNotice: noticesTo(log) } });
  } finally {
    dispose();
  }
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
    const lines = [`brandfill: ${message}`, ...(stack === undefined ? [] : [stack])];
    process.stderr.write(`${printableLines(withoutSecrets(lines.join('\n')))}\n`);
  }
  return code;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
