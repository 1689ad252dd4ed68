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
 * `text` is lines for people: the time, the id of the run if a line is about one, and the message.
 * `json` is for log collectors: an object on each line, with all other fields too. `shown` is
 * `text` where nobody asked for a log: a run is then shown to the person who started it, as `plain`
 * lines without times and ids.
 */
export type LogFormat = 'shown' | 'plain' | 'text' | 'json';

/** Facts of a line that a program may want, by name. Secrets are taken out of texts. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The place where all lines of a process go. */
export interface Log {
  readonly format: LogFormat;
  /** @param message a sentence, or lines for people, which are one in a log */
  write(level: LogLevel, message: string | readonly string[], fields?: LogFields): void;
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

/** Opens the log of a process. */
export function openLog(options: LogOptions): Log {
  const { format, level, stream, redact, fields = {} } = options;
  return {
    format,
    write: (of, message, more = {}) => {
      if (!isLogged(of, level)) return;
      const all = redactDeep({ ...fields, ...more }, redact);
      const put = (text: string): void => void stream.write(`${text}\n`);
      if (format === 'plain') {
        const start = all['event'] === 'notice' ? 'Note: ' : '';
        for (const line of [message].flat()) put(printable(redact(start + line)));
        return;
      }
      const time = new Date().toISOString();
      const msg = redact(typeof message === 'string' ? message : inOneLine(message));
      const { run } = all as { readonly run?: string };
      if (format === 'json') put(JSON.stringify({ level: of, time, ...all, msg }));
      else put([time, ...(run === undefined ? [] : [run]), printable(msg)].join(' '));
    },
    with: (more) => openLog({ ...options, fields: { ...fields, ...more } }),
  };
}

/** Lines for people as one. */
export function inOneLine(lines: readonly string[]): string {
  return lines.map((line) => line.trim().replaceAll(/ {2,}/g, ' ')).join('; ');
}

/** Chooses the format that suits the destination and the purpose. */
export function chooseFormat(
  wish: 'auto' | 'text' | 'json',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): LogFormat {
  if (wish !== 'auto') return wish;
  return !isTTY && env['NODE_ENV'] === 'production' ? 'json' : 'shown';
}
