import { findJsonObject, isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { createShapeFinder, MAX_DEPTH, type Shape } from '../../brand/shape.ts';
import { hashText } from '../../common/hashes.ts';
import type { RowAnswers } from '../row-answers.ts';

/** How often a shape occurs in a list. */
export interface ShapeUse {
  /** The first row with it. Rows without a domain are not counted. */
  readonly firstRow: number;
  /** The number of rows with it. */
  readonly rows: number;
}

/** The shapes of a list's answers, by number. */
export type ShapeUses = ReadonlyMap<number, ShapeUse>;

/** The paths of a list's answers, the most frequent first. */
export interface RankedPaths {
  readonly paths: Shape;
  /** Whether there are more paths, which hardly any row has, or that are unknown. */
  readonly isCut: boolean;
  /** The number of rows with an answer whose paths are unknown. */
  readonly unshapedRows: number;
}

export interface RankOptions {
  /** Undefined when the paths are unknown. */
  readonly findShape: (id: number) => Shape | undefined;
  /** The share of the rows with a path that have a value there, from 0 to 1. @default 1 */
  readonly filledShareOf?: (path: readonly string[]) => number;
  /** The most paths to return. */
  readonly most: number;
}

/**
 * Answers whose names are data, such as colours or dates, have endless paths. Counting is limited
 * to this many.
 */
const MOST_COUNTED = 20_000;

interface CountedPath {
  readonly path: readonly string[];
  rows: number;
}

interface CountedPaths {
  readonly counted: ReadonlyMap<string, CountedPath>;
  readonly hasForgotten: boolean;
  readonly unshapedRows: number;
}

/**
 * Orders the paths of a list's answers by the number of rows with a value there. Paths with the
 * same number keep the order of the answers.
 */
export function rankPaths(uses: ShapeUses, options: RankOptions): RankedPaths {
  const { findShape, filledShareOf = () => 1, most } = options;
  const { counted, hasForgotten, unshapedRows } = countPaths(uses, findShape);
  for (const each of counted.values()) each.rows *= filledShareOf(each.path);
  const best = new Map([...counted].sort(byRows).slice(0, most));
  const rows = (path: readonly string[]): number => best.get(keyOf(path))?.rows ?? 0;
  const paths = inOrderOfAnswers(uses, findShape, best);
  return {
    paths: [...paths].sort((one, other) => rows(other) - rows(one)),
    isCut: hasForgotten || unshapedRows > 0 || counted.size > best.size,
    unshapedRows,
  };
}

/**
 * Counts paths. Common shapes come first, so that only rare paths are dropped when there are too
 * many.
 */
function countPaths(uses: ShapeUses, findShape: RankOptions['findShape']): CountedPaths {
  const common = [...uses].sort(
    ([, one], [, other]) => other.rows - one.rows || one.firstRow - other.firstRow,
  );
  let counted = new Map<string, CountedPath>();
  let hasForgotten = false;
  let unshapedRows = 0;
  for (const [id, { rows }] of common) {
    const shape = findShape(id);
    if (!shape) unshapedRows += rows;
    for (const path of shape ?? []) {
      const key = keyOf(path);
      const known = counted.get(key);
      if (known) known.rows += rows;
      else counted.set(key, { path, rows });
    }
    if (counted.size <= MOST_COUNTED) continue;
    counted = new Map([...counted].sort(byRows).slice(0, MOST_COUNTED / 2));
    hasForgotten = true;
  }
  return { counted, hasForgotten, unshapedRows };
}

function inOrderOfAnswers(
  uses: ShapeUses,
  findShape: RankOptions['findShape'],
  wanted: ReadonlyMap<string, CountedPath>,
): Shape {
  const list = createColumnList(wanted.size);
  const byFirstRow = [...uses].sort(([, one], [, other]) => one.firstRow - other.firstRow);
  for (const [id] of byFirstRow) {
    if (list.columns.length === wanted.size) break;
    list.merge((findShape(id) ?? []).filter((path) => wanted.has(keyOf(path))));
  }
  return list.columns;
}

function byRows(
  [, one]: readonly [string, CountedPath],
  [, other]: readonly [string, CountedPath],
): number {
  return other.rows - one.rows;
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

interface FilledShareOptions {
  readonly sample: DomainSample;
  readonly answers: Pick<RowAnswers, 'answerOf'>;
}

/** Paths beyond this many, as of answers whose names are data, are not looked at. */
const MOST_PATHS = 20_000;

/** The sample ends after this many characters, because answers may be long. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/**
 * Estimates from a sample of the answers how many of the rows with a path have a value there. An
 * API may send `null` for an unknown value, which shapes do not show.
 *
 * @returns the share for a path, from 0 to 1; 1 when it is not in the sample
 */
export function measureFilledShares(
  options: FilledShareOptions,
): (path: readonly string[]) => number {
  const { sample, answers } = options;
  const shapeOf = createShapeFinder();
  const paths = new Map<string, { rows: number; filled: number }>();
  let left = MOST_CHARACTERS;
  for (const [domain, rows] of sample.rowsByDomain) {
    const outcome = answers.answerOf(domain);
    if (!outcome) continue;
    left -= outcome.json.length;
    const answer = findJsonObject(outcome.json) ?? {};
    for (const path of shapeOf(answer) ?? []) {
      const key = JSON.stringify(path);
      const known = paths.get(key);
      if (!known && paths.size >= MOST_PATHS) continue;
      const seen = known ?? { rows: 0, filled: 0 };
      seen.rows += rows;
      if (isValue(valueAt(answer, path))) seen.filled += rows;
      paths.set(key, seen);
    }
    if (left < 0) break;
  }
  return (path) => {
    const seen = paths.get(JSON.stringify(path));
    return seen === undefined ? 1 : seen.filled / seen.rows;
  };
}

function isValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}

/** Some of the domains of a list, with the number of rows of each. */
export interface DomainSample {
  /** Must be called for each row that has a domain. */
  add(domain: string): void;
  readonly rowsByDomain: ReadonlyMap<string, number>;
}

const SEED = 3;

/**
 * Takes a sample whose size does not grow with the list. Domains are chosen by their hash, so that
 * nearly the same list gives nearly the same sample, whatever its order.
 *
 * @param most the most domains in it. A longer list gives at least about half as many.
 */
export function createDomainSample(most: number): DomainSample {
  const rowsByDomain = new Map<string, number>();
  const hash = new Uint32Array(2);
  let mask = 0;

  function isIn(domain: string): boolean {
    hashText(domain, SEED, hash, 0);
    return ((hash[0] ?? 0) & mask) === 0;
  }

  return {
    add: (domain) => {
      if (mask !== 0 && !isIn(domain)) return;
      rowsByDomain.set(domain, (rowsByDomain.get(domain) ?? 0) + 1);
      while (rowsByDomain.size > most && mask < 2 ** 30) {
        mask = mask * 2 + 1;
        for (const known of rowsByDomain.keys()) if (!isIn(known)) rowsByDomain.delete(known);
      }
    },
    rowsByDomain,
  };
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

/** The columns of many answers, in one order. */
export interface ColumnList {
  /** Adds the columns of one more answer. */
  merge(shape: Shape): void;
  readonly columns: Shape;
  /** Whether columns were left out because there are too many. */
  readonly isFull: boolean;
}

/**
 * Merges shapes into one list of columns. A new path is inserted after the path before it in its
 * own shape, so that related columns stay together, whichever row has them first.
 *
 * @param most the most columns
 */
export function createColumnList(most: number): ColumnList {
  const columns: (readonly string[])[] = [];
  const places = new Map<string, number>();
  let isFull = false;

  function insert(path: readonly string[], key: string, at: number): void {
    columns.splice(at, 0, path);
    for (const [other, place] of places) if (place >= at) places.set(other, place + 1);
    places.set(key, at);
  }

  return {
    merge: (shape) => {
      let last = -1;
      for (const path of shape) {
        const key = JSON.stringify(path);
        const known = places.get(key);
        if (known === undefined && columns.length >= most) {
          isFull = true;
          continue;
        }
        if (known === undefined) insert(path, key, last + 1);
        last = known ?? last + 1;
      }
    },
    columns,
    get isFull() {
      return isFull;
    },
  };
}
