import { isMap, isScalar, type Node } from 'yaml';
import { shorten } from '../../rows/columns/names.ts';
import { findNearest } from '../known-options.ts';
import {
  describeKind,
  type JobFileReading,
  nameOf,
  offsetOf,
  readValue,
  resolve,
} from './job-file-values.ts';
import type { JsonSchema } from './value-shapes.ts';

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
