import { type Command, Option } from 'commander';
import type { OnNotice } from '../common/notice.ts';
import { withoutSecrets } from '../common/secrets.ts';
import {
  chooseFormat,
  LOG_LEVELS,
  type Log,
  type LogFields,
  type LogLevel,
  openLog,
} from '../watch/views/log.ts';
import type { CliContext } from './context.ts';

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
export function noticesTo(log: Log): OnNotice {
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
