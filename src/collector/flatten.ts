import { isJsonObject, type JsonObject } from '../brand/answer.ts';
import type { Shape } from '../store/shapes.ts';

/** Deeper objects stay whole: nobody wants a column for each of their leaves. */
const MAX_DEPTH = 8;

/**
 * The paths to all values of an answer, in its order. Lists are values; so are objects deeper than
 * eight levels.
 */
export function shapeOf(answer: JsonObject): Shape {
  const paths: (readonly string[])[] = [];
  visit(answer, [], paths);
  return paths;
}

function visit(object: JsonObject, path: readonly string[], paths: (readonly string[])[]): void {
  for (const name of Object.keys(object)) {
    const here = [...path, name];
    const value = object[name];
    if (isJsonObject(value) && here.length < MAX_DEPTH) visit(value, here, paths);
    else paths.push(here);
  }
}

/** The value at a path; undefined where this answer has none, or has a structure there. */
export function valueAt(answer: JsonObject, path: readonly string[]): unknown {
  let value: unknown = answer;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return isJsonObject(value) && path.length < MAX_DEPTH ? undefined : value;
}

/**
 * Joins shapes into one list of columns. A path that is new goes behind the one it follows in its
 * own shape, so that related columns stay together whichever row has them first.
 */
export function mergeShape(columns: (readonly string[])[], shape: Shape): void {
  const known = new Map(columns.map((path, at) => [keyOf(path), at]));
  let after = -1;
  for (const path of shape) {
    const at = known.get(keyOf(path));
    if (at !== undefined) {
      after = at;
      continue;
    }
    after += 1;
    columns.splice(after, 0, path);
    for (const [key, place] of known) if (place >= after) known.set(key, place + 1);
    known.set(keyOf(path), after);
  }
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}
