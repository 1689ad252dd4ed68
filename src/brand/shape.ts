import { hashText } from '../common/hashes.ts';
import { findRoundedJsonObject, isJsonObject, type JsonObject } from './json-object.ts';

/**
 * The columns of one answer, in its order. Each is the path to a value. A path is a list, so names
 * with dots or spaces stay unambiguous.
 */
export type Shape = readonly (readonly string[])[];

/** Deeper objects stay whole: a column for each of their leaves would be of no use. */
export const MAX_DEPTH = 8;

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

/** The number of no paths, and of paths that are no columns because there are too many. */
export const NO_PATHS = 0;
export const TOO_MANY_PATHS = 1;
/** Beyond this many names, or characters in them, they are data, such as the ids of its parts. */
const MOST_NAMES = 2_000;
const MOST_CHARACTERS = 100_000;

/**
 * A number of 48 bits that tells the paths of one answer from those of another, so that the paths of
 * many answers are known from the answers that are the first with their number.
 *
 * @param json the text of an answer; one that is not a JSON object has no paths
 */
export function numberPaths(json: string): number {
  const answer = json === '' ? undefined : findRoundedJsonObject(json);
  if (!answer) return NO_PATHS;
  let names = 0;
  let text = '';

  function add(object: JsonObject, depth: number): void {
    for (const name of Object.keys(object)) {
      names += 1;
      if (names > MOST_NAMES || text.length > MOST_CHARACTERS) return;
      text += `${name}\0`;
      const value = object[name];
      if (!isJsonObject(value) || depth === MAX_DEPTH) continue;
      text += '{';
      add(value, depth + 1);
      text += '}';
    }
  }

  add(answer, 1);
  if (names === 0) return NO_PATHS;
  if (names > MOST_NAMES || text.length > MOST_CHARACTERS) return TOO_MANY_PATHS;
  const hash = new Uint32Array(2);
  hashText(text, 0, hash, 0);
  const number = ((hash[1] ?? 0) & 0xffff) * 2 ** 32 + (hash[0] ?? 0);
  return Math.max(number, TOO_MANY_PATHS + 1);
}
