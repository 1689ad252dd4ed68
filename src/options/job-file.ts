import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { z } from 'zod';
import { isCredentialName } from '../brand/credential.ts';
import type { NameValue } from '../brand/endpoint.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { keepCredentialName } from '../common/secrets.ts';
import { findNearest, isTimezone } from '../common/text.ts';
import { shorten } from '../rows/columns/names.ts';
import { findCronProblem, findTimezoneProblem, type Schedule } from './cron.ts';
import { type JsonSchema, jsonSchemaOf, metaOf } from './option.ts';
import { flagOf, nameOf, OPTIONS, type OptionKey, toOptions } from './options.ts';
import { duration } from './types.ts';
import {
  type Environment,
  expandVariables,
  fillPlaceholders,
  placeholdersAt,
} from './variables.ts';
import {
  createIssues,
  describeYamlError,
  findTooLong,
  type JobFileIssues,
  presetAt,
  presetPathOf,
} from './yaml-files.ts';

// A job file is read in three steps: YAML with its positions, values with their variables filled in,
// and each value by the type of its key. What is wrong is noted with its place; the rest counts.

/** Tells somebody when a run is over. */
export interface OnFinish {
  /** A line for the shell, or a program with its arguments. Gets the report on standard input. */
  readonly command: string | readonly string[];
  /** How long the command may take, in milliseconds. @default 10 minutes */
  readonly timeout?: number | undefined;
}

/** A value of a job file, with variables replaced. Numbers are texts, as on the command line. */
type FileValue = string | boolean | readonly FileValue[] | { readonly [key: string]: FileValue };

/** All values of a job file by option. Settings are as they were given, not yet parsed. */
type JobFileValues = { readonly [K in OptionKey]: FileValue } & {
  readonly input: string;
  readonly apiKeyEnv: string;
  readonly schedule: Schedule;
  readonly onFinish: OnFinish;
};

const A_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A text of which a function says what is wrong. */
const checked = (
  help: string,
  isAbsent: string,
  findProblem: (text: string) => string | undefined,
) =>
  z
    .string({ error: ({ input }) => (input === undefined ? isAbsent : 'expected a text') })
    .superRefine((text, context) => {
      const message = findProblem(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .describe(help);

/** A map with these keys and no others. */
const map = <S extends z.ZodRawShape>(keys: S) =>
  z.strictObject(keys, {
    error: ({ code, input }) =>
      code === 'invalid_type'
        ? `expected keys such as ${Object.keys(keys).slice(0, 3).join(', ')}, received ${describe(input)}`
        : undefined,
  });

const A_COMMAND = 'expected a line for the shell, or a list of a program and its arguments';

/** Keys of a job file beside the options of `enrich`. */
const EXTRA_KEYS = {
  input: z
    .string({ error: ({ input }) => `expected a text, received ${describe(input)}` })
    .describe(
      'the list: an XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    ),
  // A wrong value is never repeated: it may be the credential itself.
  apiKeyEnv: z
    .string('expected a text')
    .regex(
      A_NAME,
      'expected the bare name of an environment variable such as BRANDFILL_API_KEY; the credential itself, or ${…}, does not belong here',
    )
    .meta({
      default: 'BRANDFILL_API_KEY',
      description: 'name of the environment variable that holds the credential',
    }),
  schedule: map({
    cron: checked(
      'five fields: minute, hour, day, month, weekday; for example, 30 2 * * * is 02:30 every day',
      "expected 'cron', such as '30 2 * * *'",
      findCronProblem,
    ),
    timezone: checked(
      "time zone of cron and of {date}, such as Europe/Berlin (default: the machine's)",
      '',
      findTimezoneProblem,
    ).optional(),
  }).describe('when brandfill schedule runs this job'),
  onFinish: map({
    command: z
      .union([z.string().regex(/\S/, A_COMMAND), z.array(z.string()).min(1, A_COMMAND)], {
        error: ({ input }) => (input === undefined ? "expected 'command'" : A_COMMAND),
      })
      .describe(
        'a shell command, or a list of a program and its arguments; runs in the folder of the job file, with the report as JSON on its standard input',
      ),
    timeout: duration(1).optional().describe('how long the command may take (default: 10min)'),
  }).describe('whom to notify when the run is over, however it ended'),
};

/** Every key of a job file, once for reading it and for its schema. */
export const JOB_FILE_KEYS: Readonly<Record<string, z.ZodType>> = {
  ...Object.fromEntries(Object.entries(OPTIONS).map(([key, one]) => [nameOf(key), one])),
  ...EXTRA_KEYS,
};
const OPTION_KEYS = new Map<string, OptionKey>(
  Object.keys(OPTIONS).map((key) => [nameOf(key), key as OptionKey]),
);

/** A job file, as far as it could be read. */
export interface JobFile {
  readonly file: string;
  readonly values: Partial<JobFileValues>;
  /** The place of a key's value: `jobs/nightly.yaml:3:8`. */
  placeOf(key: string): string | undefined;
  /** All its mistakes. The values that could be read, such as `onFinish`, count nevertheless. */
  readonly error: BrandfillError | undefined;
}

export interface JobFileContext {
  /** The source of variables. */
  readonly env: Environment;
  /** The moment that `{date}` and `{time}` stand for. */
  readonly now: Date;
}

/**
 * Reads a job file. Paths in it come out relative to the current folder.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no such file
 */
export async function readJobFile(file: string, context: JobFileContext): Promise<JobFile> {
  return parseJobFile(file, await readText(file), context);
}

/** Reads the text of a job file. */
export function parseJobFile(file: string, text: string, { env, now }: JobFileContext): JobFile {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(file, lines);
  const wrong = [...doc.errors, ...doc.warnings];
  const broken = wrong.filter(({ code }) => code !== 'DUPLICATE_KEY');
  // Most errors after the first ones only follow from them.
  for (const error of broken.slice(0, 3)) issues.add(error.pos[0], describeError(error, text));
  for (const { code, pos } of wrong)
    if (code === 'DUPLICATE_KEY') issues.add(pos[0], 'this key stands there twice; leave one out');
  if (broken.length === 0 && !isMap(doc.contents)) {
    issues.add(offsetOf(doc.contents), describeNoMap(doc.contents));
  }
  if (broken.length > 0 || !isMap(doc.contents)) {
    return { file, values: {}, placeOf: () => undefined, error: issues.toError() };
  }
  const credential: unknown = doc.get('apiKeyEnv');
  if (typeof credential === 'string') keepCredentialName(credential);
  const secretNames = new Set(['BRANDFILL_API_KEY', String(credential)]);
  const toValue = createValueReader({ text, env, secretNames, issues, doc });
  const given = readKeys(doc.contents, issues, toValue);
  const zone = (given.get('schedule')?.value as Partial<Schedule> | undefined)?.timezone;
  const placeholders = placeholdersAt(
    now,
    zone !== undefined && isTimezone(zone) ? zone : undefined,
  );
  const values: Record<string, unknown> = {};
  for (const [key, { value: written, node }] of given) {
    if (written === undefined) continue;
    const option = OPTION_KEYS.get(key);
    const toPath = (path: string): string => {
      if (path === '-') return path;
      const filled = fillPlaceholders(path, placeholders);
      if ('path' in filled) return besideFile(file, filled.path);
      issues.add(offsetOf(node), `${key}: ${filled.problem}`);
      return path;
    };
    const value = isPathOf(key) ? withPaths(written, key, toPath) : written;
    const read = JOB_FILE_KEYS[key]?.safeParse(value);
    if (!read?.success) {
      note(read?.error.issues ?? [], { key, node, issues });
      continue;
    }
    const credentialIn = findCredential(option, read.data);
    if (credentialIn !== undefined) issues.add(offsetOf(node), `${key}: ${credentialIn}`);
    values[key] = option === undefined ? read.data : value; // options are read where they are used
  }
  return {
    file,
    values: toOptions(values),
    placeOf: (key) => {
      const place = given.get(nameOf(key));
      return place && issues.placeOf(offsetOf(place.node));
    },
    error: issues.toError(),
  };
}

interface Given {
  readonly value: FileValue | undefined;
  readonly node: Node;
}

/** The values of the keys that there are; mistakes are noted. */
function readKeys(
  contents: YAMLMap,
  issues: JobFileIssues,
  toValue: (key: string, node: Node) => FileValue | undefined,
): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const pair of contents.items) {
    const key = sourceOf(pair.key);
    const node = pair.value as Node | null;
    if (!Object.hasOwn(JOB_FILE_KEYS, key)) {
      issues.add(
        offsetOf(pair.key),
        explainKey(key) ?? unknownKey(key, Object.keys(JOB_FILE_KEYS)),
      );
    } else if (node === null || (isScalar(node) && node.value === null)) {
      issues.add(offsetOf(pair.key), `'${key}' has no value; give one, or leave it out`);
    } else given.set(key, { value: toValue(key, node), node });
  }
  return given;
}

interface Reading {
  readonly text: string;
  readonly env: Environment;
  /** Names of variables that hold the credential, which may not be used in the file. */
  readonly secretNames: ReadonlySet<string>;
  readonly issues: JobFileIssues;
  readonly doc: Parameters<import('yaml').Alias['resolve']>[0];
}

/** No option needs more; an anchor that refers to itself would never end. */
const MOST_DEPTH = 3;

/** Reads a value of a key, with variables filled in; undefined if it is wrong, or comes to nothing. */
function createValueReader({ text, env, secretNames, issues, doc }: Reading) {
  return (key: string, top: Node): FileValue | undefined => {
    const add = (offset: number, message: string): undefined => {
      issues.add(offset, `${key}: ${message}`);
    };
    const read = (node: Node, path: string, depth: number): FileValue | undefined => {
      const target = isAlias(node) ? node.resolve(doc) : node;
      if (target === undefined)
        return add(offsetOf(node), 'this refers to nothing; there is no anchor of that name');
      if (depth > MOST_DEPTH) return add(offsetOf(node), 'lists and maps are nested too deep');
      if (isSeq(target)) {
        const values = target.items.map((item) => read(item as Node, `${path}.`, depth + 1));
        return values.every((value) => value !== undefined) ? values : undefined;
      }
      if (isMap(target)) {
        const entries = target.items.map(({ key: name, value }: Pair) => {
          const inner = sourceOf(name);
          return [inner, read((value ?? name) as Node, `${path}.${inner}`, depth + 1)] as const;
        });
        const isWhole = entries.every(
          (entry): entry is [string, FileValue] => entry[1] !== undefined,
        );
        return isWhole ? Object.fromEntries(entries) : undefined;
      }
      return readScalar(target, path);
    };
    const readScalar = (node: Node, path: string): FileValue | undefined => {
      const value = isScalar(node) ? node.value : undefined;
      if (value === null || value === undefined)
        return add(offsetOf(node), 'there is no value; give one, or leave the key out');
      if (typeof value === 'boolean') return value;
      // A line for the shell stays: the shell knows the same variables, and quotes them.
      if (AS_IT_IS.has(path) || typeof value !== 'string') return sourceOf(node);
      const { text: filled, names, problems } = expandVariables(value, env);
      const [from = 0, to = 0] = node.range ?? [];
      const at = (part: string): number => from + Math.max(0, text.slice(from, to).indexOf(part));
      const secret = names.find((name) => secretNames.has(name));
      if (secret !== undefined) {
        const message = `${secret} holds the credential, which goes nowhere but to the API`;
        return add(at(`\${${secret}`), message);
      }
      for (const { part, message } of problems) add(at(part), message);
      if (problems.length > 0 || (names.length > 0 && filled === '')) return undefined;
      return names.length > 0 && /^(true|false)$/.test(filled) ? filled === 'true' : filled;
    };
    return read(top, key, 0);
  };
}

/** Texts whose `${…}` are not variables of the file. */
const AS_IT_IS: ReadonlySet<string> = new Set(['onFinish.command', 'apiKeyEnv']);

/** Notes what is wrong with the value of a key, where in it that stands. */
function note(
  wrong: readonly z.core.$ZodIssue[],
  { key, node, issues }: Omit<Given, 'value'> & { readonly key: string; issues: JobFileIssues },
): void {
  const hasUnknown = wrong.some(({ code }) => code === 'unrecognized_keys');
  for (const issue of wrong) {
    let place: Node = node;
    let prefix = `${key}: `;
    for (const part of issue.path) {
      const inner = isMap(place) ? place.get(part, true) : undefined;
      if (inner === undefined) break;
      place = inner as Node;
      prefix += `${String(part)}: `;
    }
    if (issue.code === 'unrecognized_keys' && isMap(place)) {
      const known = Object.keys(shapeOf(JOB_FILE_KEYS[key]));
      for (const pair of place.items) {
        const name = sourceOf(pair.key);
        if (issue.keys.includes(name)) {
          issues.add(offsetOf(pair.key), `${prefix}${unknownKey(name, known)}`);
        }
      }
    } else if (!(hasUnknown && place === node)) {
      issues.add(offsetOf(place), prefix + inWordsOfFile(issue.message));
    }
  }
}

const shapeOf = (declared: z.ZodType | undefined): object =>
  declared instanceof z.ZodObject ? declared.shape : {};

/** Whether the values of a key are paths; of the columns, only what names a preset is. */
function isPathOf(key: string): ((value: string) => boolean) | undefined {
  if (key === 'input') return () => true;
  if (key === 'fields') return (value) => presetPathOf(value) !== undefined;
  const option = OPTION_KEYS.get(key);
  return option && metaOf(OPTIONS[option]).isPath;
}

/** The paths in a value, relative to the folder of the job file. */
function withPaths(value: FileValue, key: string, toPath: (path: string) => string): FileValue {
  if (Array.isArray(value)) return value.map((one: FileValue) => withPaths(one, key, toPath));
  if (typeof value !== 'string' || !isPathOf(key)?.(value)) return value;
  const preset = key === 'fields' ? presetPathOf(value) : undefined;
  return preset === undefined ? toPath(value) : presetAt(toPath(preset));
}

function findCredential(option: OptionKey | undefined, read: unknown): string | undefined {
  if (option !== 'params' && option !== 'headers') return undefined;
  const pairs = read as readonly NameValue[];
  const named = pairs.find(([name]) => name !== 'key' && isCredentialName(name));
  return (
    named &&
    `'${named[0]}' is a credential; say in 'auth' how it is sent, and name what holds it in 'apiKeyEnv' or 'apiKeyFile'`
  );
}

/** Turns a path relative to the folder of the job file into one relative to the current folder. */
export function besideFile(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** Explains keys that people try and that job files do not have. */
function explainKey(key: string): string | undefined {
  if (key === 'token') {
    return 'a token does not belong in a job file; put it into the environment variable BRANDFILL_DASHBOARD_TOKEN';
  }
  if (isCredentialName(key)) {
    return `a credential does not belong in a job file; name the environment variable that holds it in 'apiKeyEnv', or the file in 'apiKeyFile'`;
  }
  return ['dryRun', 'progress', 'json', 'logLevel', 'logFormat'].includes(key)
    ? `'${key}' is no key of a job file; give ${flagOf(key)} on the command line`
    : undefined;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = findNearest(key, known);
  const all =
    known.length > 5 ? 'the keys are listed in docs/job-files.md' : `expected ${known.join(', ')}`;
  return `there is no key '${shorten(key)}'; ${meant === undefined ? all : `did you mean '${meant}'?`}`;
}

/** The text of a scalar as it was written: `no` is a name, not false. */
function sourceOf(node: unknown): string {
  if (!isScalar(node)) return String(node);
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
}

/** Where a node begins, in characters from the beginning of the text. */
function offsetOf(node: unknown): number {
  return (node as Partial<Node> | null)?.range?.[0] ?? 0;
}

/** `a list`, `a map`, `true`, `'60'`. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'string' ? shorten(`'${value}'`) : JSON.stringify(value);
}

/** Does not repeat a text: a credential may have been given in place of a job file. */
function describeNoMap(contents: Node | null): string {
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  const found = isEmpty
    ? 'this one is empty'
    : `this one is ${isSeq(contents) ? 'a list' : 'a text'}`;
  return `a job file is made of keys with values, such as 'input: accounts.csv'; ${found}`;
}

function describeError({ code, message, pos }: YAMLError, text: string): string {
  if (code === 'MULTIPLE_DOCS') return 'a job file is one document; leave out what begins with ---';
  return describeYamlError(message, text.charAt(pos[0]));
}

async function readText(file: string): Promise<string> {
  if (/\.(csv|tsv|jsonl|ndjson|gz)$/i.test(file)) throw noJobFile(file, 'it is named like a list');
  try {
    const tooLong = findTooLong((await stat(file)).size);
    if (tooLong !== undefined) throw noJobFile(file, tooLong);
    return decode(await readFile(file), file);
  } catch (error) {
    if (error instanceof BrandfillError) throw error;
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read the job file ${file}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  }
}

function decode(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let line = 1;
  for (let from = 0; ; line += 1) {
    const end = bytes.indexOf('\n', from);
    if (end === -1 || !isUtf8(bytes.subarray(from, end))) break;
    from = end + 1;
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${file}:${line}: it is not in UTF-8; save the file as UTF-8.`,
  );
}

function noJobFile(file: string, why: string): BrandfillError {
  const message = `Cannot use ${file} as a job file: ${why}; for a list there is brandfill enrich.`;
  return new BrandfillError('INVALID_SETTING', message);
}

/** The JSON Schema of job files, for editors; `jobs/job.schema.json` holds it. */
export function jobFileSchema(): JsonSchema {
  const variable = { $ref: '#/definitions/variable' };
  const properties = Object.entries(JOB_FILE_KEYS).map(([key, declared]) => {
    const schema = jsonSchemaOf(declared);
    const option = OPTION_KEYS.get(key);
    if (option === undefined) return [key, schema] as const;
    const { help, env, default: standard } = metaOf(OPTIONS[option]);
    const isNumber = schema['type'] === 'integer' || schema['type'] === 'number';
    return [
      key,
      {
        description: inWordsOfFile(help) + (env === undefined ? '' : ` (environment: ${env})`),
        ...(standard === undefined ? {} : { default: isNumber ? Number(standard) : standard }),
        ...(schema['type'] === 'string' && Object.keys(schema).length === 1
          ? schema
          : { anyOf: [schema, variable] }),
      },
    ] as const;
  });
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:brandfill:job',
    title: 'Brandfill job',
    description: 'A job for brandfill run; see docs/job-files.md.',
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    definitions: {
      variable: {
        type: 'string',
        pattern: String.raw`\$\{`,
        description: '${NAME} or ${NAME:-default}, from the environment',
      },
    },
  };
}

/** Translates a text about flags into the words of a file: `--api-key-file` is `apiKeyFile`. */
function inWordsOfFile(text: string): string {
  const names = new Map(Object.keys(OPTIONS).map((key) => [flagOf(key), nameOf(key)]));
  return text.replaceAll(/--[a-z][a-z-]*/g, (flag) => names.get(flag) ?? flag);
}
