import { isScalar, type Node } from 'yaml';
import { isCredentialName } from '../brand/credential.ts';
import type { NameValue } from '../brand/endpoint.ts';
import { parseHttpUrl } from '../common/addresses.ts';
import { BrandfillError } from '../common/errors.ts';
import { findCronProblem, findTimezoneProblem, type Schedule } from './cron.ts';
import type { Declaration, JsonSchema } from './declaration.ts';
import {
  describeKind,
  type FileValue,
  type JobFileKey,
  type JobFileKeys,
  type JobFileReading,
  offsetOf,
  readMap,
  readPath,
  readText,
  readValue,
  resolve,
  schemaOfMap,
} from './job-file-values.ts';
import { duration } from './kinds.ts';
import { HEADERS, PARAMS } from './network-kinds.ts';
import { flagOf, nameOf, OPTIONS, type OptionKey } from './options.ts';
import { presetAt, presetPathOf } from './yaml-files.ts';

/** Keys of a job file beside the settings of `enrich`. */
interface ExtraKeys {
  readonly input: string;
  readonly apiKeyEnv: string;
  readonly schedule: Schedule;
  readonly onFinish: OnFinish;
}

/** All values of a job file by option. Settings are as they were given, not yet parsed. */
export type JobFileValues = ExtraKeys & { readonly [K in OptionKey]: FileValue };

const CRON: JobFileKey<string> = textKey({
  description:
    'five fields: minute, hour, day, month, weekday; for example, 30 2 * * * is 02:30 every day',
  findProblem: findCronProblem,
});

const TIMEZONE: JobFileKey<string> = textKey({
  description: "time zone of cron and of {date}, such as Europe/Berlin (default: the machine's)",
  findProblem: findTimezoneProblem,
});

const SCHEDULE_KEYS: JobFileKeys<Schedule> = { cron: CRON, timezone: TIMEZONE };

/** Tells somebody when a run is over. */
export interface OnFinish {
  /** A line for the shell, or a program with its arguments. Gets the report on standard input. */
  readonly command?: string | readonly string[];
  /** Gets the report by POST, as JSON. */
  readonly url?: string;
  /** How long the command may take, in milliseconds. @default 10 minutes */
  readonly timeout?: number;
}

const TIMEOUT = duration(1, 24 * 86_400_000);

/** How each key of `onFinish` is read. */
const ON_FINISH_KEYS: JobFileKeys<OnFinish> = {
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
      ...TIMEOUT.schema,
      default: '10min',
      description: 'how long the command may take',
    },
    read: (node, reading) => {
      const text = readText(node, reading);
      if (text === undefined) return undefined;
      try {
        return TIMEOUT.parse(text);
      } catch (error) {
        if (!(error instanceof BrandfillError)) throw error;
        reading.issues.add(offsetOf(node), error.message);
        return undefined;
      }
    },
  },
};

const EXTRA_KEYS: JobFileKeys<ExtraKeys> = {
  input: {
    schema: {
      type: 'string',
      description:
        'the list: an XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    },
    read: (node, reading) => {
      const path = readText(node, reading);
      return path === undefined ? undefined : readPath(path, node, reading);
    },
  },
  apiKeyEnv: {
    schema: {
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      default: 'BRANDFILL_API_KEY',
      description: 'name of the environment variable that holds the credential',
    },
    read: readVariableName,
  },
  schedule: {
    schema: {
      ...schemaOfMap(SCHEDULE_KEYS),
      required: ['cron'],
      description: 'when brandfill schedule runs this job',
    },
    read: (node, reading) => {
      const before = reading.issues.count();
      const { values, isUnderstood } = readMap(node, reading, { keys: SCHEDULE_KEYS });
      const { cron, timezone } = values;
      // Half a schedule would mean another time than was intended.
      if (cron !== undefined && reading.issues.count() === before) return { cron, timezone };
      if (isUnderstood && !('cron' in values)) {
        reading.issues.add(offsetOf(node), "expected 'cron', such as '30 2 * * *'");
      }
      return undefined;
    },
  },
  onFinish: {
    schema: {
      ...schemaOfMap(ON_FINISH_KEYS),
      minProperties: 1,
      description: 'whom to notify when the run is over, however it ended',
    },
    read: (node, reading) => {
      const { values, isUnderstood } = readMap(node, reading, { keys: ON_FINISH_KEYS });
      if (values.command !== undefined || values.url !== undefined) return values;
      if (isUnderstood && !('command' in values || 'url' in values)) {
        reading.issues.add(offsetOf(node), "expected 'command' or 'url'");
      }
      return undefined;
    },
  },
};

/** Defines every key of a job file, once for reading it and for its schema. */
export const JOB_FILE_KEYS: JobFileKeys<Readonly<Record<string, unknown>>> = {
  input: EXTRA_KEYS.input,
  ...Object.fromEntries(
    Object.entries<Declaration>(OPTIONS).map(([key, option]) => [nameOf(key), optionKey(option)]),
  ),
  apiKeyEnv: EXTRA_KEYS.apiKeyEnv,
  schedule: EXTRA_KEYS.schedule,
  onFinish: EXTRA_KEYS.onFinish,
};

/** Explains keys that people try and that job files do not have. */
export function explainKey(key: string): string | undefined {
  if (key === 'token') {
    return `a token does not belong in a job file; put it into the environment variable BRANDFILL_DASHBOARD_TOKEN, or name the file that holds it in 'tokenFile'`;
  }
  if (key !== 'key' && isCredentialName(key)) {
    return `a credential does not belong in a job file; name the environment variable that holds it in 'apiKeyEnv', or the file in 'apiKeyFile'`;
  }
  const flags: Readonly<Record<string, string>> = {
    dryRun: '--dry-run',
    progress: '--progress',
    json: '--json',
    logLevel: '--log-level',
    logFormat: '--log-format',
  };
  const flag = Object.hasOwn(flags, key) ? flags[key] : undefined;
  return flag && `'${key}' is no key of a job file; give ${flag} on the command line`;
}

function optionKey(option: Declaration): JobFileKey<FileValue> {
  const { kind } = option;
  return {
    schema: schemaOf(option),
    read: (node, reading) => {
      const given = readValue(node, reading);
      const value = kind.takesPreset === true ? presetBeside(given, node, reading) : given;
      if (value === undefined) return undefined;
      const problem = findProblem(kind, value);
      if (problem !== undefined) {
        reading.issues.add(offsetOf(resolve(node, reading)), problem);
        return undefined;
      }
      return readPaths(kind, value, { node, reading });
    },
  };
}

/** The path of a preset is relative to the folder of the job file, like all paths in it. */
function presetBeside(
  value: FileValue | undefined,
  node: Node,
  reading: JobFileReading,
): FileValue | undefined {
  const path = typeof value === 'string' ? presetPathOf(value) : undefined;
  if (path === undefined) return value;
  const beside = readPath(path, node, reading);
  return beside === undefined ? undefined : presetAt(beside);
}

/** The paths in a value, relative to the folder of the job file, like all paths in it. */
function readPaths(
  kind: Declaration['kind'],
  value: FileValue,
  place: { readonly node: Node; readonly reading: JobFileReading },
): FileValue | undefined {
  if (typeof value === 'string') {
    return kind.isPath?.(value) ? readPath(value, place.node, place.reading) : value;
  }
  if (!Array.isArray(value)) return value;
  const paths = value.map((path: FileValue) => readPaths(kind, path, place));
  return paths.every((path) => path !== undefined) ? paths : undefined;
}

function schemaOf({ kind, env, ...option }: Declaration): JsonSchema {
  const standard = option.defaultInJobFile ?? option.default;
  const fromEnv = env === undefined ? '' : ` (environment: ${env})`;
  return {
    description: inWordsOfFile(option.description) + fromEnv,
    ...(standard === undefined
      ? {}
      : { default: kind.isNumber === true ? Number(standard) : standard }),
    ...kind.schema,
  };
}

function findProblem(kind: Declaration['kind'], value: FileValue): string | undefined {
  const { placeholder = 'true or false', isRepeatable = false, isMap: mayBeMap = false } = kind;
  const isList = Array.isArray(value);
  if (isList ? !isRepeatable : typeof value === 'object' && !mayBeMap) {
    return `expected ${placeholder}, received ${describeKind(value)}`;
  }
  try {
    const read = kind.parse(value);
    return kind === PARAMS || kind === HEADERS ? findCredential(read as NameValues) : undefined;
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    return inWordsOfFile(error.message);
  }
}

/** Parameters and headers, in the form that their settings parse. */
type NameValues = readonly NameValue[];

function findCredential(pairs: NameValues): string | undefined {
  const named = pairs.find(([name]) => name !== 'key' && isCredentialName(name));
  return (
    named &&
    `'${named[0]}' is a credential; say in 'auth' how it is sent, and name what holds it in 'apiKeyEnv' or 'apiKeyFile'`
  );
}

/** Translates a text about flags into the words of a file: `--api-key-file` is `apiKeyFile`. */
function inWordsOfFile(text: string): string {
  const names = new Map(Object.keys(OPTIONS).map((key) => [flagOf(key), nameOf(key)]));
  return text.replaceAll(/--[a-z][a-z-]*/g, (flag) => names.get(flag) ?? flag);
}

function textKey(options: {
  readonly description: string;
  readonly findProblem: (text: string) => string | undefined;
}): JobFileKey<string> {
  return {
    schema: { type: 'string', description: options.description },
    read: (node, reading) => {
      const text = readText(node, reading);
      const problem = text === undefined ? undefined : options.findProblem(text);
      if (problem !== undefined) reading.issues.add(offsetOf(node), problem);
      return problem === undefined ? text : undefined;
    },
  };
}

/**
 * Reads the name of a variable. A wrong value is never repeated: it may be the credential itself.
 */
function readVariableName(node: Node, reading: JobFileReading): string | undefined {
  const [from, to] = node.range ?? [0, 0];
  const name = reading.text
    .slice(from, to)
    .trim()
    .replaceAll(/^['"]|['"]$/g, '');
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  reading.issues.add(
    from,
    'expected the bare name of an environment variable such as BRANDFILL_API_KEY; the credential itself, or ${…}, does not belong here',
  );
  return undefined;
}

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

/** The JSON Schema of job files, for editors; `jobs/job.schema.json` holds it. */
export function jobFileSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:brandfill:job',
    title: 'Brandfill job',
    description: 'A job for brandfill run; see docs/job-files.md.',
    ...schemaOfMap(JOB_FILE_KEYS),
    definitions: {
      variable: {
        type: 'string',
        pattern: String.raw`\$\{`,
        description: '${NAME} or ${NAME:-default}, from the environment',
      },
    },
  };
}
