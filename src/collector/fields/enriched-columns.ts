import { findRoundedJsonObject, isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { createNamer } from '../../rows/columns/names.ts';
import { ANSWERED, otherDomainIn } from './answered-domain.ts';
import type { Field } from './fields.ts';

/** A path to a value of an answer. A list, so names with dots or spaces stay unambiguous. */
export type Path = readonly string[];

/** The paths of all answers of a list. */
export interface FoundPaths {
  /** In the order of their first appearance. */
  readonly paths: readonly Path[];
  /** Whether there are more than are told apart, whose names are data. */
  readonly isCut: boolean;
}

/** Paths beyond these are not told apart. */
const MOST_PATHS = 2_000;
/** Deeper objects stay whole: a column for each of their leaves would be of no use. */
const MAX_DEPTH = 8;

/** A name within the answers, and what is known below it. */
interface Place {
  readonly path: Path;
  readonly below: Map<string, Place>;
  /** Where an answer has a value here first: the row, and the place in its answer. */
  firstAt: number;
}

const createPlace = (path: Path = []): Place => ({ path, below: new Map(), firstAt: Infinity });

/** Finds the paths of answers. Lists are values; so are objects deeper than eight levels. */
export function createPathFinder() {
  const root = createPlace();
  const places: Place[] = [];
  let isCut = false;

  function visit(object: JsonObject, { path, below }: Place, from: number, skip?: string): number {
    let at = from;
    for (const name of Object.keys(object)) {
      if (name === skip) continue;
      let here = below.get(name);
      if (!here) {
        if (places.length >= MOST_PATHS) {
          isCut = true;
          continue;
        }
        here = createPlace([...path, name]);
        places.push(here);
        below.set(name, here);
      }
      const value = object[name];
      if (isJsonObject(value) && here.path.length < MAX_DEPTH) at = visit(value, here, at);
      else if (at < here.firstAt) here.firstAt = at;
      at += 1;
    }
    return at;
  }

  return {
    /**
     * @param row the number of the row; rows may come in any order
     * @param asked the domain that was asked about: an answer that repeats it says nothing
     */
    see: (json: string, row: number, asked: string): void => {
      const answer = json === '' ? undefined : findRoundedJsonObject(json);
      if (!answer) return;
      // Its names are data, such as the ids of its parts. A name takes four characters at least.
      if (json.length > 4 * MOST_PATHS && countNames(answer) > MOST_PATHS) isCut = true;
      else
        visit(answer, root, row * MOST_PATHS, isRepeatedIn(answer, asked) ? ANSWERED : undefined);
    },
    found: (): FoundPaths => {
      const values = places.filter(({ firstAt }) => firstAt < Infinity);
      values.sort((one, other) => one.firstAt - other.firstAt);
      return { paths: values.map(({ path }) => path), isCut };
    },
  };
}

/** Whether an answer names the domain that was asked, which a row has anyway. */
function isRepeatedIn(answer: JsonObject, asked: string): boolean {
  return typeof answer[ANSWERED] === 'string' && otherDomainIn(answer, asked) === undefined;
}

function countNames(object: JsonObject): number {
  const values = Object.values(object);
  return values.reduce<number>(
    (sum, value) => (isJsonObject(value) ? sum + countNames(value) : sum),
    values.length,
  );
}

/** The most columns of the flattened answer, not counting `json`. */
const MOST_COLUMNS = 40;

/** The name of the column for values without a column of their own. */
const REST = 'json';

/**
 * The columns of the flattened answer. The first paths get one each. All other values are in one
 * more column, `json`, with their nesting.
 */
export function flatColumnsOf(
  { paths, isCut }: FoundPaths,
  mostColumns = MOST_COLUMNS,
): readonly Field[] {
  const names = nameFlatPaths(paths);
  const shown = paths.slice(0, mostColumns);
  const toField = (path: Path): Field => ({
    name: names.get(path) ?? '',
    expression: expressionOf(path),
    path,
    valueOf: (answer) => valueAt(answer, path),
  });
  const fields = shown.map(toField);
  if (shown.length === paths.length && !isCut) return fields;
  const isRepeated = !isCut && paths.every((path) => path.join('\n') !== ANSWERED);
  const left = isRepeated ? [[ANSWERED]] : [];
  return [...fields, { name: REST, isRest: true, valueOf: createRest([...shown, ...left]) }];
}

/**
 * Names paths by joining their names with `_`. Of two equal names the shorter path keeps it. So
 * names do not depend on the order of the columns.
 */
function nameFlatPaths(paths: readonly Path[]): ReadonlyMap<Path, string> {
  const inOrder = paths
    .map((path) => ({ path, key: JSON.stringify(path) }))
    .sort((one, other) => one.path.length - other.path.length || (one.key < other.key ? -1 : 1))
    .map(({ path }) => path);
  const unique = createNamer();
  return new Map(inOrder.map((path) => [path, unique(nameOf(path))]));
}

/** A row has a column for the domain that was asked. This is the one that its answer names. */
function nameOf(path: Path): string {
  const name = path.join('_');
  return name === ANSWERED ? `answered_${name}` : name;
}

/** A name that JMESPath accepts without quotes. `let` begins an expression of its own. */
const BARE_NAME = /^(?!let$|in$)[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The JMESPath of a path: `location.city`, `"legal-name"."x.y"`.
 *
 * @see {@link https://jmespath.site JMESPath}
 */
export function expressionOf(path: Path): string {
  return path.map((name) => (BARE_NAME.test(name) ? name : JSON.stringify(name))).join('.');
}

/**
 * Creates a function that returns the rest of an answer, without the paths that are shown
 * elsewhere, with its nesting; undefined when nothing is left.
 */
function createRest(shown: readonly Path[]): (answer: JsonObject) => JsonObject | undefined {
  const root = createPlace();
  for (const path of shown) {
    let place = root;
    for (const name of path) {
      const next = place.below.get(name) ?? createPlace();
      place.below.set(name, next);
      place = next;
    }
    place.firstAt = 0;
  }
  return (answer) => restOf(answer, root, 1);
}

function restOf(
  object: JsonObject,
  place: Place | undefined,
  depth: number,
): JsonObject | undefined {
  const left: (readonly [string, unknown])[] = [];
  for (const name of Object.keys(object)) {
    const value = object[name];
    const here = place?.below.get(name);
    if (!isJsonObject(value) || depth === MAX_DEPTH) {
      if (!here || here.firstAt > 0) left.push([name, value]);
      continue;
    }
    const inner = restOf(value, here, depth + 1);
    if (inner) left.push([name, inner]);
  }
  // Not by assignment, because an answer may have a member called __proto__.
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** The value at a path; undefined when the answer has none there, or an object. */
export function valueAt(answer: JsonObject, path: Path): unknown {
  let value: unknown = answer;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return isJsonObject(value) && path.length < MAX_DEPTH ? undefined : value;
}
