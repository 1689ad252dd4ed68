import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { keepCredentialName } from '../common/secrets.ts';
import { isTimezone } from '../common/text.ts';
import { explainKey, JOB_FILE_KEYS, type JobFileValues } from './job-file-keys.ts';
import {
  type Environment,
  expandVariables,
  placeholdersAt,
  readMap,
  resolve,
} from './job-file-values.ts';
import { nameOf, toOptions } from './options.ts';
import { createIssues, describeYamlError, findTooLong } from './yaml-files.ts';

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
export function parseJobFile(file: string, text: string, context: JobFileContext): JobFile {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(file, lines);
  const broken = [...doc.errors, ...doc.warnings].filter(({ code }) => code !== 'DUPLICATE_KEY');
  // Most errors after the first ones only follow from them.
  for (const error of broken.slice(0, 3)) issues.add(error.pos[0], describe(error, text));
  const twice = doc.errors.filter(({ code }) => code === 'DUPLICATE_KEY');
  for (const { pos } of twice) issues.add(pos[0], 'this key stands there twice; leave one out');
  if (broken.length > 0) {
    return { file, values: {}, placeOf: () => undefined, error: issues.toError() };
  }
  if (!isMap(doc.contents)) {
    issues.add(doc.contents?.range?.[0] ?? 0, describeNoMap(doc.contents));
    return { file, values: {}, placeOf: () => undefined, error: issues.toError() };
  }
  const credential: unknown = doc.get('apiKeyEnv');
  if (typeof credential === 'string') keepCredentialName(credential);
  const reading = {
    file,
    text,
    doc,
    env: context.env,
    credentialNames: new Set(['BRANDFILL_API_KEY', String(credential)]),
    placeholders: placeholdersAt(context.now, findTimezone(doc, context.env)),
    issues,
  };
  const { values, offsets } = readMap(doc.contents, reading, {
    keys: JOB_FILE_KEYS,
    explain: explainKey,
  });
  return {
    file,
    values: toOptions(values),
    placeOf: (key) => {
      const offset = offsets.get(nameOf(key));
      return offset === undefined ? undefined : issues.placeOf(offset);
    },
    error: issues.toError(),
  };
}

/**
 * The time zone of the schedule, which is needed before keys are read. Mistakes in it are noted
 * when they are.
 */
function findTimezone(doc: Document.Parsed, env: Environment): string | undefined {
  const memberOf = (map: unknown, key: string): Node | undefined => {
    const member = isMap(map) ? map.get(key, true) : undefined;
    return isNode(member) ? resolve(member, { doc }) : undefined;
  };
  const found = memberOf(memberOf(doc.contents, 'schedule'), 'timezone');
  if (!isScalar(found) || typeof found.value !== 'string') return undefined;
  const { text } = expandVariables(found.value, env);
  return isTimezone(text) ? text : undefined;
}

/** Does not repeat a text: a credential may have been given in place of a job file. */
function describeNoMap(contents: Node | null): string {
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  const found = isEmpty
    ? 'this one is empty'
    : `this one is ${isSeq(contents) ? 'a list' : 'a text'}`;
  return `a job file is made of keys with values, such as 'input: accounts.csv'; ${found}`;
}

function describe({ code, message, pos }: YAMLError, text: string): string {
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
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${file}:${lineThatIsNotUtf8(bytes)}: it is not in UTF-8; save the file as UTF-8.`,
  );
}

function lineThatIsNotUtf8(bytes: Buffer): number {
  let line = 1;
  for (let from = 0; ; line += 1) {
    const end = bytes.indexOf('\n', from);
    if (end === -1 || !isUtf8(bytes.subarray(from, end))) return line;
    from = end + 1;
  }
}

function noJobFile(file: string, why: string): BrandfillError {
  const message = `Cannot use ${file} as a job file: ${why}; for a list there is brandfill enrich.`;
  return new BrandfillError('INVALID_SETTING', message);
}
