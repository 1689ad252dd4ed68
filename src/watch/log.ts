import { redactDeep } from '../common/secrets.ts';
import { printable } from '../common/text.ts';

/** The least severe level that is logged, from everything to hardly anything. */
const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** @param least the least severe level that is logged */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

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
  const { format, level, redact, fields = {} } = options;
  const put = format === 'json' ? await openJson(options) : openText(options);
  const withFields = (bound: LogFields): Log => ({
    format,
    write: (of, message, more = {}) => {
      if (!isLogged(of, level)) return;
      put(of, redact(message), redactDeep({ ...bound, ...more }, redact));
    },
    with: (more) => withFields({ ...bound, ...more }),
  });
  return withFields(fields);
}

type Put = (level: LogLevel, message: string, fields: LogFields) => void;

function openText({ stream }: LogOptions): Put {
  return (_, message, { run }) => {
    const start = [new Date().toISOString(), ...(typeof run === 'string' ? [run] : [])];
    stream.write(`${start.join(' ')} ${printable(message)}\n`);
  };
}

async function openJson({ level, stream }: LogOptions): Promise<Put> {
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
  return (of, message, fields) => root[of](fields, message);
}

/** Chooses the format that suits the destination and the purpose. */
export function chooseFormat(
  wish: 'auto' | 'text' | 'json',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): LogFormat {
  if (wish !== 'auto') return wish;
  return !isTTY && env['NODE_ENV'] === 'production' ? 'json' : 'shown';
}
