import { dirname, isAbsolute, join } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { JobFileIssues } from './job-file-issues.ts';
import {
  type Environment,
  expandVariables,
  fillPlaceholders,
  type PlaceholderValues,
} from './variables.ts';

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
export function nameOf(key: unknown): string {
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
