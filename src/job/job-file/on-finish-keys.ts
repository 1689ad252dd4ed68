import { isScalar, type Node } from 'yaml';
import { BrandfillError } from '../../common/errors.ts';
import { parseHttpUrl } from '../../common/hosts.ts';
import { SETTINGS } from '../settings.ts';
import { duration } from '../values/setting-values.ts';
import type { JobFileKeys } from './job-file-map.ts';
import { type JobFileReading, offsetOf, readText, readValue, resolve } from './job-file-values.ts';
import { shapeOf } from './value-shapes.ts';

/** Tells somebody when a run is over. */
export interface OnFinish {
  /** A line for the shell, or a program with its arguments. Gets the report on standard input. */
  readonly command?: string | readonly string[];
  /** Gets the report by POST, as JSON. */
  readonly url?: string;
  /** How long the command may take, in milliseconds. @default 10 minutes */
  readonly timeout?: number;
}

/** How each key of `onFinish` is read. */
export const ON_FINISH_KEYS: JobFileKeys<OnFinish> = {
  command: {
    schema: {
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }],
      description:
        'a shell command, or a list of a program and its arguments; runs in the folder of the job file, with the report as JSON on its standard input',
    },
    read: readCommand,
  },
  url: {
    schema: { type: 'string', description: 'URL that the report is sent to by POST, as JSON' },
    read: readUrl,
  },
  timeout: {
    schema: {
      ...shapeOf(SETTINGS.timeout),
      default: '10min',
      description: 'how long the command may take',
    },
    read: (node, reading) => {
      const text = readText(node, reading);
      if (text === undefined) return undefined;
      try {
        return duration(1, 24 * 86_400_000)(text);
      } catch (error) {
        if (!(error instanceof BrandfillError)) throw error;
        reading.issues.add(offsetOf(node), error.message);
        return undefined;
      }
    },
  },
};

/** A line for the shell is taken unchanged: the shell knows the same variables, and quotes them. */
function readCommand(node: Node, reading: JobFileReading): OnFinish['command'] {
  const target = resolve(node, reading);
  if (isScalar(target) && typeof target.value === 'string' && target.value.trim() !== '') {
    return target.value;
  }
  const value = readValue(node, reading);
  const isCommand =
    Array.isArray(value) && value.every((part) => typeof part === 'string') && Boolean(value[0]);
  if (isCommand) return value;
  if (value !== undefined) {
    const expected = 'expected a line for the shell, or a list of a program and its arguments';
    reading.issues.add(offsetOf(node), expected);
  }
  return undefined;
}

/** Does not repeat the value: addresses of web hooks are secrets. */
function readUrl(node: Node, reading: JobFileReading): string | undefined {
  const text = readText(node, reading);
  if (text === undefined) return undefined;
  const url = parseHttpUrl(text);
  if (url && url.username === '' && url.password === '') return text;
  reading.issues.add(
    offsetOf(node),
    'expected a URL that begins with https:// or http://, without user name or password',
  );
  return undefined;
}
