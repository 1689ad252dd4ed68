import { redactDeep } from '../common/secrets.ts';
import { printable } from '../common/text.ts';

/** The least severe level that is logged, from everything to hardly anything. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * `text` is lines for people. `json` is for log collectors: an object on each line. `shown` is
 * `text` where nobody asked for a log: a run is then shown to the person who started it, without
 * times and ids.
 */
export type LogFormat = 'shown' | 'text' | 'json';

/** Facts of a line that a program may want, by name. Secrets are taken out of texts. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The place where all lines of a process go. */
export interface Log {
  readonly format: LogFormat;
  /** Whether lines of a level are logged. */
  tells(level: LogLevel): boolean;
  write(level: LogLevel, message: string, fields?: LogFields): void;
  /** The same with these fields on each line. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  readonly format: LogFormat;
  readonly level: LogLevel;
  /** Where the lines go; standard error, so that rows on standard output stay clean. */
  readonly stream: Pick<NodeJS.WritableStream, 'write'>;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  /** Fields on each line of JSON; a line of text has only the id of the run. @default none */
  readonly fields?: LogFields;
}

/**
 * Opens the log of a process. A line of text has the time, the id of the run if it is about one,
 * and the message; a line of JSON has all other fields too.
 */
export async function openLog(options: LogOptions): Promise<Log> {
  return options.format === 'json' ? await openJsonLog(options) : createTextLog(options);
}

/** Chooses the format that suits the destination and the purpose. */
export function chooseFormat(
  wish: 'auto' | 'text' | 'json',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): LogFormat {
  if (wish !== 'auto') return wish;
  return !isTTY && env['NODE_ENV'] === 'production' ? 'json' : 'shown';
}

function createTextLog(options: LogOptions): Log {
  const { format, level, stream, redact, fields = {} } = options;
  return {
    format,
    tells: (of) => isAtLeast(of, level),
    write: (of, message, more = {}) => {
      if (!isAtLeast(of, level)) return;
      const { run } = { ...fields, ...more };
      const start = [new Date().toISOString(), ...(typeof run === 'string' ? [run] : [])];
      stream.write(`${start.join(' ')} ${printable(redact(message))}\n`);
    },
    with: (more) => createTextLog({ ...options, fields: { ...fields, ...more } }),
  };
}

async function openJsonLog({ level, stream, redact, fields = {} }: LogOptions): Promise<Log> {
  // Loaded here, so that readers of text need not wait for it.
  const { pino } = await import('pino');
  const root = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    { write: (line: string) => void stream.write(line) },
  );
  const wrap = (bound: LogFields): Log => ({
    format: 'json',
    tells: (of) => isAtLeast(of, level),
    write: (of, message, more = {}) => {
      if (!isAtLeast(of, level)) return;
      root[of](redactDeep({ ...bound, ...more }, redact), redact(message));
    },
    with: (more) => wrap({ ...bound, ...more }),
  });
  return wrap(fields);
}

function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/**
 * How progress is shown: `bar` redraws a block at the bottom of the terminal, `lines` writes a line
 * every few seconds.
 */
export type ProgressStyle = 'bar' | 'lines' | 'none';

/** Chooses what suits a stream: a bar on a terminal that can redraw it, lines elsewhere. */
export function chooseStyle(
  wish: ProgressStyle | 'auto',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): ProgressStyle {
  if (wish === 'lines' || wish === 'none') return wish;
  return isTTY && env['TERM'] !== 'dumb' ? 'bar' : 'lines';
}
