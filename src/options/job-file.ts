import { dirname, isAbsolute, join } from 'node:path';
import { CronExpressionParser } from 'cron-parser';
import type { Document, Pair } from 'yaml';
import { z } from 'zod';
import { isCredentialName } from '../brand/credential.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { endSentence, refusal } from '../common/errors.ts';
import { keepCredentialName, keepSecret } from '../common/secrets.ts';
import { isTimezone, localTime } from '../common/text.ts';
import { LIST_FILE } from '../rows/list-formats.ts';
import { duration, file, variableName } from './kinds.ts';
import { kind, metaOf, type Options, type OptionsOf, option, refusing } from './option.ts';
import { OPTIONS, SOURCE } from './options.ts';
import { loadYaml, readText, readYaml } from './yaml.ts';

// A job file is read in one go: YAML with its positions, variables filled in, then all values by
// the types of their options. What is wrong is noted with its place.

const A_CRON = "'30 2 * * *' (minute, hour, day, month, weekday)";

const schedule = z.strictObject({
  cron: kind(z.string(`expected 'cron', such as ${A_CRON}`), readCron).describe(
    'five fields: minute, hour, day, month, weekday; for example, 30 2 * * * is 02:30 every day',
  ),
  timezone: z
    .string()
    .refine(isTimezone, 'there is no such time zone; expected a name such as Europe/Berlin')
    .optional()
    .describe("time zone of cron and of {date}, such as Europe/Berlin (default: the machine's)"),
});

const A_COMMAND = 'expected a line for the shell, or a list of a program and its arguments';

const onFinish = z.strictObject({
  command: z
    .union([z.string().regex(/\S/, A_COMMAND), z.array(z.string()).min(1, A_COMMAND)], A_COMMAND)
    .describe(
      'a shell command, or a list of a program and its arguments; runs in the folder of the job file, with the report as JSON on its standard input',
    ),
  timeout: duration(1).optional().describe('how long the command may take (default: 10min)'),
});

/** Tells somebody when a run is over. */
export type OnFinish = z.output<typeof onFinish>;

/** Every key of a job file: the options of `enrich`, and those that only a file has. */
const JOB_FILE = {
  ...OPTIONS,
  input: option(file(), {
    help: `the list: an ${LIST_FILE}`,
  }),
  apiKeyEnv: variableName.optional(),
  sources: z
    .array(z.strictObject(SOURCE))
    .min(1)
    .optional()
    .describe('APIs that are asked in turn, each about what the one before does not know'),
  schedule: schedule.optional().describe('when brandfill schedule runs this job'),
  onFinish: onFinish.optional().describe('whom to notify when the run is over, however it ended'),
} satisfies Options;

/** The environment of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A job file, as far as it could be read. */
export type JobFile = ReturnType<typeof parseJobFile>;

export interface JobFileContext {
  /** The source of variables. */
  readonly env: Environment;
  /** The moment that `{date}` and `{time}` stand for. */
  readonly now: Date;
}

/** Reads a job file. @throws BrandfillError `INVALID_SETTING` when there is no such file */
export function readJobFile(file: string, context: JobFileContext): JobFile {
  const text = refusing('Cannot run a job:', () => readText(file, 'the job file'));
  return parseJobFile(file, text, context);
}

/** Reads the text of a job file. */
export function parseJobFile(file: string, text: string, { env, now }: JobFileContext) {
  const yaml = readYaml(file, text, (doc, noteAt) => fillIn(doc, env, noteAt));
  const content = yaml.value as Readonly<Record<string, unknown>> | null | undefined;
  const isMap = isJsonObject(content);
  if (!isMap && yaml.problem() === undefined) {
    yaml.note(
      [],
      "a job file is made of keys with values, such as 'input: accounts.csv'; for a list there is brandfill enrich",
    );
  }
  const all = isMap ? content : {};
  const ofSchedule = schedule.safeParse(all['schedule']).data;
  const [date = '', time = ''] = localTime(now, ofSchedule?.timezone).split(' ');
  const moment = new Map([
    ['{date}', date],
    ['{time}', time.replaceAll(':', '')],
  ]);
  const pathOf = (key: string, path: string): string => {
    if (path === '-') return path;
    const filled = path.replaceAll(/\{[A-Za-z]+\}/g, (part) => {
      const value = moment.get(part);
      if (value === undefined)
        yaml.note([key], `${key}: there is no ${part}; there are {date} and {time}`);
      return value ?? part;
    });
    return besideFile(file, filled);
  };
  /** @param within the way to the values */
  const readValues = (values: object, within: readonly PropertyKey[]): Record<string, unknown> => {
    const read: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(values) as [string, unknown][]) {
      const refused = isRefused(key, value);
      if (refused !== undefined) yaml.note([...within, key], `${key}: ${refused}`);
      // Null is left by a variable without a value.
      if (refused !== undefined || value === null) continue;
      const declared = Object.hasOwn(JOB_FILE, key) ? (JOB_FILE as Options)[key] : undefined;
      const { isPath } = metaOf(declared ?? z.unknown());
      const toPath = (one: unknown, at: number): unknown => {
        if (typeof one === 'string') return isPath?.(one) ? pathOf(key, one) : one;
        return key === 'sources' && isJsonObject(one) ? readValues(one, [key, at]) : one;
      };
      read[key] = Array.isArray(value) ? value.map(toPath) : toPath(value, 0);
    }
    return read;
  };
  const given = readValues(all, []);
  yaml.check(z.strictObject(JOB_FILE), given);
  const { schedule: _, onFinish: ofEnd, ...options } = given;
  const problem = yaml.problem();
  return {
    file,
    /**
     * Its options as they stand there, variables filled in, paths relative to the current folder.
     */
    options: options as Omit<OptionsOf<typeof JOB_FILE>, 'schedule' | 'onFinish'>,
    schedule: ofSchedule,
    onFinish: onFinish.safeParse(ofEnd).data,
    /** The place of a key's value: `jobs/nightly.yaml:3:8`; undefined where it has none. */
    placeOf: (key: string): string | undefined => (key in given ? yaml.placeOf([key]) : undefined),
    /** All its mistakes. */
    error: problem === undefined ? undefined : refusal(endSentence(`Cannot use ${problem}`)),
  };
}

/** Fills variables into the texts of a file. Numbers become the texts that were written. */
function fillIn(
  doc: Document,
  env: Environment,
  noteAt: (offset: number, message: string) => void,
): void {
  const { isPair, isScalar, visit } = loadYaml();
  const named = new Set(['BRANDFILL_API_KEY']);
  visit(doc, {
    Pair: (_, { key, value }) => {
      if (String(key) !== 'apiKeyEnv' || !isScalar(value) || typeof value.value !== 'string')
        return;
      named.add(value.value);
      keepCredentialName(value.value);
      keepSecret(env[value.value]?.trim());
    },
  });
  visit(doc, {
    Scalar(role, node, path) {
      if (role === 'key') return undefined;
      const keys = path.filter(isPair).map(({ key }: Pair) => String(key));
      const note = (message: string): void =>
        noteAt(node.range?.[0] ?? 0, `${keys[0]}: ${message}`);
      if (node.value === null && path.length === 3)
        note('there is no value; give one, or leave the key out');
      if (typeof node.value === 'number') node.value = node.source;
      // A line for the shell stays: the shell knows the same variables, and quotes them.
      const isLeft = isPair(path.at(-1)) && AS_IT_IS.has(keys.join('.'));
      if (isLeft || typeof node.value !== 'string') return undefined;
      let hasVariable = false;
      const filled = node.value.replaceAll(VARIABLE, (part, name?: string, otherwise?: string) => {
        if (part === '$${') return '${';
        hasVariable = true;
        const value = name && (otherwise === undefined ? env[name] : env[name] || otherwise);
        if (name === undefined) {
          note(
            'expected ${NAME} or ${NAME:-default}, whose default is plain text; write $${ where a plain ${ is meant',
          );
        } else if (named.has(name)) {
          note(`${name} holds the credential, which goes nowhere but to the API`);
        } else if (value === undefined) {
          note(
            `the environment has no variable ${name}; set it, or give a default: \${${name}:-…}`,
          );
        }
        return value ?? '';
      });
      if (hasVariable && filled === '') return visit.REMOVE;
      node.value = hasVariable && /^(true|false)$/.test(filled) ? filled === 'true' : filled;
      return undefined;
    },
  });
}

const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-((?:(?!\$\{)[^}])*))?\}|[^}]*\}?)/g;

/** Texts whose `${…}` are not variables of the file. */
const AS_IT_IS: ReadonlySet<string> = new Set([
  'onFinish.command',
  'apiKeyEnv',
  'sources.apiKeyEnv',
]);

/** What is said of a credential in a file. */
function isRefused(key: string, value: unknown): string | undefined {
  if (key === 'params' || key === 'headers') {
    const names =
      Array.isArray(value) || typeof value === 'string' ? [value].flat() : Object.keys(value ?? {});
    const isCredential = (one: unknown): boolean =>
      isCredentialName(String(one).split('=')[0] ?? '');
    if (!names.some(isCredential)) return undefined;
    return "it has a credential; say in 'auth' how it is sent, and name what holds it in 'apiKeyEnv' or 'apiKeyFile'";
  }
  if (Object.hasOwn(JOB_FILE, key)) return undefined;
  if (key === 'token') {
    return 'a token does not belong in a job file; put it into the environment variable BRANDFILL_DASHBOARD_TOKEN';
  }
  if (!isCredentialName(key)) return undefined;
  return "a credential does not belong in a job file; name the environment variable that holds it in 'apiKeyEnv', or the file in 'apiKeyFile'";
}

/** Turns a path relative to the folder of the job file into one relative to the current folder. */
export function besideFile(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** @throws BrandfillError for what is no cron expression */
function readCron(text: string): string {
  const cron = text.trim();
  const isShort = !cron.startsWith('@') && cron.split(/\s+/).length < 5;
  try {
    if (isShort) throw new Error('it has too few fields');
    CronExpressionParser.parse(cron, { tz: 'UTC' }).next(); // it may name days that never come
    return cron;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refusal(`'${text}' is no cron expression such as ${A_CRON}: ${reason}`);
  }
}

/** The JSON Schema of job files, for editors; `jobs/job.schema.json` holds it. */
export function jobFileSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(z.strictObject(JOB_FILE), {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { help, env } = metaOf(zodSchema as unknown as z.ZodType);
      if (help !== undefined)
        jsonSchema.description = help + (env === undefined ? '' : ` (environment: ${env})`);
      // A variable may stand for a switch.
      if (jsonSchema.type === 'boolean') Object.assign(jsonSchema, { type: ['boolean', 'string'] });
    },
  });
  return { ...schema, title: 'Brandfill job', description: 'See docs/job-files.md.' };
}
