import { findRoundedJsonObject, isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { MAX_DEPTH, NO_PATHS, type Shape, shapeOf, TOO_MANY_PATHS } from '../../brand/shape.ts';
import { uniqueNames } from '../../rows/columns/names.ts';
import type { RowAnswers } from '../row-answers.ts';
import type { RowIndex } from '../row-index.ts';
import type { Field } from './fields.ts';

export interface FindPathsOptions {
  readonly index: Pick<RowIndex, 'read'>;
  readonly answers: Pick<RowAnswers, 'answerHeadOf' | 'answerOf'>;
}

/** The paths of all answers of a list. */
export interface FoundPaths {
  /** In the order of their first appearance. */
  readonly paths: Shape;
  /** Whether there are more than are told apart, whose names are data. */
  readonly isCut: boolean;
}

/** Paths beyond these are not told apart. */
const MOST_PATHS = 2_000;

/**
 * Finds the paths of the answers of this list's rows, row by row. Few answers are read: the head of
 * each holds the number of its paths.
 */
export async function findPaths(options: FindPathsOptions): Promise<FoundPaths> {
  const { index, answers } = options;
  const found = new Map<string, readonly string[]>();
  const met = new Set([NO_PATHS]);
  let isCut = false;

  function shapeOfRow(domain: string): Shape {
    const head = answers.answerHeadOf(domain);
    if (!head || met.has(head.shapeId)) return [];
    met.add(head.shapeId);
    if (head.shapeId === TOO_MANY_PATHS) {
      isCut = true; // its names are data, and go into one more column
      return [];
    }
    const answer = findRoundedJsonObject(answers.answerOf(domain)?.json ?? '');
    return answer ? shapeOf(answer) : [];
  }

  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind !== 'due' && kind !== 'known') continue;
      for (const path of shapeOfRow(text)) {
        const key = JSON.stringify(path);
        if (found.has(key)) continue;
        if (found.size < MOST_PATHS) found.set(key, path);
        else isCut = true;
      }
    }
  }
  return { paths: [...found.values()], isCut };
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
  const toField = (path: readonly string[]): Field => ({
    name: names.get(path) ?? '',
    expression: expressionOf(path),
    path,
    valueOf: (answer) => valueAt(answer, path),
  });
  const fields = shown.map(toField);
  if (shown.length === paths.length && !isCut) return fields;
  return [...fields, { name: REST, isRest: true, valueOf: createRest(shown) }];
}

/**
 * Names paths by joining their names with `_`. Of two equal names the shorter path keeps it. So
 * names do not depend on the order of the columns.
 */
function nameFlatPaths(paths: Shape): ReadonlyMap<readonly string[], string> {
  const inOrder = paths
    .map((path) => ({ path, key: JSON.stringify(path) }))
    .sort((one, other) => one.path.length - other.path.length || (one.key < other.key ? -1 : 1))
    .map(({ path }) => path);
  const names = uniqueNames(inOrder.map((path) => path.join('_')));
  return new Map(inOrder.map((path, at) => [path, names[at] ?? '']));
}

/** A name that JMESPath accepts without quotes. `let` begins an expression of its own. */
const BARE_NAME = /^(?!let$|in$)[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The JMESPath of a path: `location.city`, `"legal-name"."x.y"`.
 *
 * @see {@link https://jmespath.site JMESPath}
 */
export function expressionOf(path: readonly string[]): string {
  return path.map((name) => (BARE_NAME.test(name) ? name : JSON.stringify(name))).join('.');
}

/** A node in the tree of shown paths. */
interface Place {
  isShown: boolean;
  readonly below: Map<string, Place>;
}

/**
 * Creates a function that returns the rest of an answer, without the paths that are shown
 * elsewhere, with its nesting; undefined when nothing is left.
 */
function createRest(shown: Shape): (answer: JsonObject) => JsonObject | undefined {
  const root = createPlace();
  for (const path of shown) {
    let place = root;
    for (const name of path) {
      const next = place.below.get(name) ?? createPlace();
      place.below.set(name, next);
      place = next;
    }
    place.isShown = true;
  }
  return (answer) => restOf(answer, root, 1);
}

function createPlace(): Place {
  return { isShown: false, below: new Map() };
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
      if (!here?.isShown) left.push([name, value]);
      continue;
    }
    const inner = restOf(value, here, depth + 1);
    if (inner) left.push([name, inner]);
  }
  // Not by assignment, because an answer may have a member called __proto__.
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** The value at a path; undefined when the answer has none there, or an object. */
export function valueAt(answer: JsonObject, path: readonly string[]): unknown {
  let value: unknown = answer;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return isJsonObject(value) && path.length < MAX_DEPTH ? undefined : value;
}
