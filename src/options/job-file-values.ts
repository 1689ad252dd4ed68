import { dirname, isAbsolute, join } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { findNearest } from '../common/text.ts';
import { shorten } from '../rows/columns/names.ts';
import type { JsonSchema } from './declaration.ts';
import type { JobFileIssues } from './yaml-files.ts';

/** A job file that is being read. */
export interface JobFileReading {
  readonly file: string;
  /** Its text, into which the positions of nodes point. */
  readonly text: string;
  readonly doc: Document;
  readonly env: Environment;
  /** Names of variables that hold the credential, which may not be used in the file. */
  readonly credentialNames: ReadonlySet<string>;
  readonly placeholders: PlaceholderValues;
  readonly issues: JobFileIssues;
}

/** A value of a job file, with variables replaced. Numbers are texts, as on the command line. */
export type FileValue = string | boolean | readonly FileValue[] | FileMap;
export interface FileMap {
  readonly [key: string]: FileValue;
}

/** No setting needs more; an anchor that refers to itself would never end. */
const MOST_DEPTH = 3;

/**
 * Reads a value with everything in it. Undefined when there is none: either a mistake was noted, or
 * the value is nothing but empty variables.
 */
export function readValue(node: Node, reading: JobFileReading, depth = 0): FileValue | undefined {
  const target = resolve(node, reading);
  if (target === undefined) {
    reading.issues.add(offsetOf(node), 'this refers to nothing; there is no anchor of that name');
    return undefined;
  }
  if (depth > MOST_DEPTH) {
    reading.issues.add(offsetOf(node), 'lists and maps are nested too deep');
    return undefined;
  }
  if (isSeq(target)) {
    const values = target.items.map((item) => readValue(item as Node, reading, depth + 1));
    return values.every((value) => value !== undefined) ? values : undefined;
  }
  if (isMap(target)) {
    const entries = target.items.map(
      ({ key, value }) =>
        [nameOf(key), readValue((value ?? key) as Node, reading, depth + 1)] as const,
    );
    const isWhole = entries.every((entry): entry is [string, FileValue] => entry[1] !== undefined);
    return isWhole ? Object.fromEntries(entries) : undefined;
  }
  return readScalar(target, reading);
}

/** Reads a text; notes anything else as wrong. */
export function readText(node: Node, reading: JobFileReading): string | undefined {
  const value = readValue(node, reading);
  if (value === undefined || typeof value === 'string') return value;
  reading.issues.add(offsetOf(node), `expected a text, received ${describeKind(value)}`);
  return undefined;
}

/**
 * Fills in `{date}` and `{time}`, and resolves a path relative to the job file into one relative to
 * the current folder.
 */
export function readPath(path: string, node: Node, reading: JobFileReading): string | undefined {
  if (path === '-') return path;
  const filled = fillPlaceholders(path, reading.placeholders);
  if ('problem' in filled) {
    reading.issues.add(offsetOf(node), filled.problem);
    return undefined;
  }
  return besideFile(reading.file, filled.path);
}

/** Turns a path relative to the folder of the job file into one relative to the current folder. */
export function besideFile(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** Returns the target of an alias, or the node itself. */
export function resolve(node: Node, { doc }: Pick<JobFileReading, 'doc'>): Node | undefined {
  return isAlias(node) ? node.resolve(doc) : node;
}

/** The name of a key. */
function nameOf(key: unknown): string {
  return isScalar(key) ? (key.source ?? String(key.value)) : String(key);
}

/** Where a node begins, in characters from the beginning of the text. */
export function offsetOf(node: unknown): number {
  const range = (node as Partial<Node> | null)?.range;
  return range?.[0] ?? 0;
}

/** `a list`, `a map`, `true`, `'60'`. */
export function describeKind(value: FileValue): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object'
    ? 'a map'
    : typeof value === 'boolean'
      ? String(value)
      : `'${value}'`;
}

function readScalar(node: Node, reading: JobFileReading): string | boolean | undefined {
  const value = isScalar(node) ? node.value : undefined;
  if (value === null || value === undefined) {
    reading.issues.add(offsetOf(node), 'there is no value; give one, or leave the key out');
    return undefined;
  }
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return (isScalar(node) && node.source) || `${value as number}`;
  const { text, names, problems } = expandVariables(value, reading.env);
  for (const { part, message } of problems) reading.issues.add(find(part, node, reading), message);
  const credential = names.find((name) => reading.credentialNames.has(name));
  if (credential !== undefined) {
    const at = find(`\${${credential}`, node, reading);
    reading.issues.add(at, `${credential} holds the credential, which goes nowhere but to the API`);
  }
  if (problems.length > 0 || credential !== undefined) return undefined;
  if (names.length === 0) return text;
  if (text === '') return undefined;
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

/** Where a part of a scalar begins in the file. */
function find(part: string, node: Node, { text }: JobFileReading): number {
  const [from = 0, to = 0] = node.range ?? [];
  const at = text.slice(from, to).indexOf(part);
  return from + Math.max(at, 0);
}

/** One key of a job file: its meaning, its shape, and how it is read. */
export interface JobFileKey<T> {
  readonly schema: JsonSchema;
  /** Undefined when there is no value; mistakes are noted. */
  read(node: Node, reading: JobFileReading): T | undefined;
}

/** The keys of a map. */
export type JobFileKeys<T> = { readonly [K in keyof T]-?: JobFileKey<NonNullable<T[K]>> };

/** A map that was read, as far as it could be. */
export interface ReadMap<T> {
  readonly values: Partial<T>;
  /** Where each value begins in the text. */
  readonly offsets: ReadonlyMap<string, number>;
  /** Whether it is a map and all its keys are known. */
  readonly isUnderstood: boolean;
}

export interface MapOptions<T> {
  readonly keys: JobFileKeys<T>;
  /** Explains a key that is not one of `keys`. */
  readonly explain?: (key: string) => string | undefined;
}

/** Reads a map key by key. All mistakes are noted. */
export function readMap<T extends object>(
  node: Node | null,
  reading: JobFileReading,
  { keys, explain }: MapOptions<T>,
): ReadMap<T> {
  const values: Record<string, unknown> = {};
  const offsets = new Map<string, number>();
  const map = node === null ? undefined : resolve(node, reading);
  let isUnderstood = isMap(map);
  if (!isMap(map)) {
    const known = Object.keys(keys).slice(0, 3).join(', ');
    const received = describeNode(map, reading);
    reading.issues.add(offsetOf(node), `expected keys such as ${known}, ${received}`);
  }
  for (const pair of isMap(map) ? map.items : []) {
    const key = nameOf(pair.key);
    const value = pair.value as Node | null;
    offsets.set(key, offsetOf(value ?? pair.key));
    if (!Object.hasOwn(keys, key)) {
      const message = explain?.(key) ?? unknownKey(key, Object.keys(keys));
      reading.issues.add(offsetOf(pair.key), message);
      isUnderstood = false;
    } else if (value === null || (isScalar(value) && value.value === null)) {
      reading.issues.add(offsetOf(pair.key), `'${key}' has no value; give one, or leave it out`);
    } else {
      values[key] = keys[key as keyof T].read(value, inside(key, reading));
    }
  }
  return { values: values as Partial<T>, offsets, isUnderstood };
}

/** The JSON Schema of a map with these keys. */
export function schemaOfMap<T>(keys: JobFileKeys<T>): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries<JobFileKey<unknown>>(keys).map(([key, { schema }]) => [key, schema]),
  );
  return { type: 'object', properties, additionalProperties: false };
}

function describeNode(node: Node | undefined, reading: JobFileReading): string {
  const value = node && !(isScalar(node) && node.value === null) && readValue(node, reading);
  return value === undefined || value === false
    ? 'found none'
    : `received ${shorten(describeKind(value))}`;
}

/** The same reading; its mistakes name the key that they are about. */
function inside(key: string, reading: JobFileReading): JobFileReading {
  const { issues } = reading;
  const add = (offset: number, message: string): void => issues.add(offset, `${key}: ${message}`);
  return { ...reading, issues: { ...issues, add } };
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = findNearest(key, known);
  const all =
    known.length > 5 ? 'the keys are listed in docs/job-files.md' : `expected ${known.join(', ')}`;
  return `there is no key '${shorten(key)}'; ${meant === undefined ? all : `did you mean '${meant}'?`}`;
}

/** The environment of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A text with its variables replaced. */
export interface Expanded {
  readonly text: string;
  /** Names of the variables in it. */
  readonly names: readonly string[];
  readonly problems: readonly VariableProblem[];
}

/** A problem with a variable, and the part of the text that it is about. */
export interface VariableProblem {
  readonly part: string;
  readonly message: string;
}

const PARTS =
  /\$\$\{|\$\{(?<name>[A-Za-z_]\w*)(?::-(?<fallback>(?:(?!\$\{)[^}])*))?\}|(?<broken>\$\{[^}]*\}?)/g;

/**
 * Replaces variables: `${NAME}`, and `${NAME:-default}` where NAME is not set or empty. `$${` is a
 * plain `${`.
 */
export function expandVariables(text: string, env: Environment): Expanded {
  const names: string[] = [];
  const problems: VariableProblem[] = [];
  const expanded = text.replaceAll(PARTS, (part, ...rest: readonly unknown[]) => {
    const { name, fallback, broken } = rest.at(-1) as Partial<Record<string, string>>;
    if (broken !== undefined) {
      const message =
        'expected ${NAME} or ${NAME:-default}, whose default is plain text; write $${ where a plain ${ is meant';
      problems.push({ part, message });
    }
    if (name === undefined) return '${';
    names.push(name);
    const value = fallback === undefined ? env[name] : env[name] || fallback;
    if (value === undefined) {
      const message = `the environment has no variable ${name}; set it, or give a default: \${${name}:-…}`;
      problems.push({ part, message });
    }
    return value ?? '';
  });
  return { text: expanded, names, problems };
}

/** The values of the placeholders in the paths of a job. */
export type PlaceholderValues = Readonly<Record<'date' | 'time', string>>;

/**
 * The values of `{date}` (YYYY-MM-DD) and `{time}` (HHMMSS).
 *
 * @param timeZone such as `Europe/Berlin`; the machine's own when it is not given
 */
export function placeholdersAt(now: Date, timeZone: string | undefined): PlaceholderValues {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const join = (...names: readonly Intl.DateTimeFormatPartTypes[]): readonly string[] =>
    names.map((name) => parts.get(name) ?? '');
  return {
    date: join('year', 'month', 'day').join('-'),
    time: join('hour', 'minute', 'second').join(''),
  };
}

/** Puts the values into a path. A returned text instead of them says what is wrong. */
export function fillPlaceholders(
  path: string,
  values: PlaceholderValues,
): { readonly path: string } | { readonly problem: string } {
  const known = Object.keys(values);
  for (const [part, name = ''] of path.matchAll(/\{([A-Za-z]+)\}/g)) {
    if (known.includes(name)) continue;
    const meant = findNearest(name, known);
    const hint =
      meant === undefined
        ? `the placeholders are ${known.map((one) => `{${one}}`).join(' and ')}`
        : `did you mean {${meant}}?`;
    return { problem: `there is no ${part}; ${hint}` };
  }
  return {
    path: path.replaceAll(/\{(date|time)\}/g, (_, name: 'date' | 'time') => values[name]),
  };
}
