import { printable } from '../../common/printable.ts';
import { redactDeep } from '../../common/redact-deep.ts';

/** The least that is told, from all to hardly anything. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * `text` is lines for people, `json` for whatever gathers logs: an object on each line. `shown` is
 * `text` where nobody asked for a log: a run is then shown to whoever started it, without times and ids.
 */
export type LogFormat = 'shown' | 'text' | 'json';

/** What a program may want to know of a line, by name. Texts are told without secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where all lines of a process go. */
export interface Log {
  readonly format: LogFormat;
  /** Whether lines of a level are told. */
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
  /** On each line of JSON; of text it is the id of the run that is there. @default none */
  readonly fields?: LogFields;
}

/**
 * Opens the log of a process. A line of text has the time, the id of the run if it is about one, and
 * the message; one of JSON has all else too.
 */
export async function openLog(options: LogOptions): Promise<Log> {
  return options.format === 'json' ? await openJsonLog(options) : createTextLog(options);
}

/** What fits where it goes, and what it is for. */
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
  // Loaded here, so that whoever reads text need not wait for it.
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
