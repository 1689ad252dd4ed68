import { isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { MAX_DEPTH, type Shape } from '../../brand/shape.ts';
import type { RowIndex } from '../../producer/row-index.ts';
import { uniqueNames } from '../../rows/columns/names.ts';
import type { SavedColumn } from '../../store/saved-columns.ts';
import { MOST_SHAPES, UNSHAPED } from '../../store/shapes.ts';
import type { RowAnswers } from '../row-answers.ts';
import type { Field } from './fields.ts';
import { type RankedPaths, type ShapeUse, type ShapeUses, valueAt } from './rank-paths.ts';

export interface CountShapesOptions {
  readonly index: Pick<RowIndex, 'read'>;
  readonly answers: Pick<RowAnswers, 'answerHeadOf'>;
  /** The shapes of fresh outcomes, as counted by the plan. */
  readonly freshShapes: ShapeUses;
}

/**
 * Counts the shapes of the answers of this list's rows without reading the answers: the head of
 * each outcome holds the number of its shape.
 */
export async function countShapes(options: CountShapesOptions): Promise<ShapeUses> {
  const { index, answers, freshShapes } = options;
  const uses = new Map([...freshShapes].map(([id, use]) => [id, { ...use }]));
  let row = 0;
  for await (const rows of index.read()) {
    for (const { kind, text, fields } of rows) {
      if (kind === 'due' || kind === 'known') row += 1;
      else if (kind === 'written') row += fields;
      if (kind !== 'due') continue; // fresh outcomes are already counted
      const head = answers.answerHeadOf(text);
      if (head) countShape(uses, head.shapeId, row);
    }
  }
  return uses;
}

/** Counts a row with a shape. Beyond as many as a store keeps, further ones are not told apart. */
export function countShape(uses: ShapeCounts, shapeId: number, row: number): void {
  const id = uses.size < MOST_SHAPES || uses.has(shapeId) ? shapeId : UNSHAPED;
  const known = uses.get(id);
  if (!known) uses.set(id, { firstRow: row, rows: 1 });
  else {
    known.rows += 1;
    if (row < known.firstRow) known.firstRow = row;
  }
}

/** Counts in progress. */
export type ShapeCounts = Map<number, { -readonly [K in keyof ShapeUse]: ShapeUse[K] }>;

/** Paths that are compared separately. Further paths are compared together. */
export const MOST_PATHS = 500;

export interface FlatColumnsOptions {
  /** The most columns, not counting `json`. */
  readonly maxColumns: number;
  /** Names of columns that an earlier output has. They come first, however many there are. */
  readonly known?: readonly string[] | undefined;
  /** The columns of the last output of the list. They stay, under their names, even when empty. */
  readonly layout?: readonly SavedColumn[] | undefined;
}

/** The name of the column for values without a column of their own. */
const REST = 'json';

/**
 * The columns of the flattened answer. The first paths get one each. All other values are in one
 * more column, `json`, with their nesting.
 */
export function flatColumnsOf(
  { paths, isCut }: Pick<RankedPaths, 'paths' | 'isCut'>,
  { maxColumns, known = [], layout = [] }: FlatColumnsOptions,
): readonly Field[] {
  const kept = layout.flatMap(({ name, path }) => (path ? [{ name, path }] : []));
  const stay = kept.slice(0, maxColumns);
  const staying = new Set(stay.map(({ path }) => JSON.stringify(path)));
  const more = paths.filter((path) => !staying.has(JSON.stringify(path)));
  const names = nameFlatPaths(more, stay);
  const isKnown = (path: readonly string[]): boolean => known.includes(names.get(path) ?? '');
  const first = [...stay.map(({ path }) => path), ...more.filter(isKnown)];
  const others = more.filter((path) => !isKnown(path));
  // If there is a `json` column already, all paths without a column of their own go there.
  const room = known.includes(REST) ? 0 : Math.max(0, maxColumns - first.length);
  const shown = [...first, ...others.slice(0, room)];
  const hidden = others.slice(room);
  const toField = (path: readonly string[]): Field => ({
    name: names.get(path) ?? '',
    expression: expressionOf(path),
    isFlat: true,
    path,
    valueOf: (answer) => valueAt(answer, path),
  });
  const fields = shown.map(toField);
  const isRestKept = layout.some(({ name, path }) => name === REST && path === undefined);
  if (hidden.length === 0 && !isCut && !isRestKept) return fields;
  const parts = hidden.map(toField);
  const beyond: Field = { name: REST, isFlat: true, valueOf: createRest(paths) };
  const rest: Field = {
    name: REST,
    isFlat: true,
    valueOf: createRest(shown),
    parts: isCut ? [...parts, beyond] : parts,
  };
  return [...fields, rest];
}

/**
 * Names paths by joining their names with `_`. Of two equal names the shorter path keeps it. So
 * names do not depend on the order of the columns. Columns of the last output keep their names.
 */
function nameFlatPaths(
  paths: Shape,
  stay: readonly { readonly name: string; readonly path: readonly string[] }[],
): ReadonlyMap<readonly string[], string> {
  const inOrder = paths
    .map((path) => ({ path, key: JSON.stringify(path) }))
    .sort((one, other) => one.path.length - other.path.length || (one.key < other.key ? -1 : 1))
    .map(({ path }) => path);
  const names = uniqueNames([
    ...stay.map(({ name }) => name),
    ...inOrder.map((path) => path.join('_')),
  ]);
  const all = [...stay.map(({ path }) => path), ...inOrder];
  return new Map(all.map((path, at) => [path, names[at] ?? '']));
}

/** The value of a part in a row, given the value of the whole. */
export function partOf(part: Field, whole: unknown): unknown {
  return isJsonObject(whole) ? part.valueOf(whole) : undefined;
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
export function createRest(shown: Shape): (answer: JsonObject) => JsonObject | undefined {
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
