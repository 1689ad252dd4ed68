import type { Shape } from '../../brand/shape.ts';
import { createColumnList } from './flatten.ts';

/** How often a shape is met in a list. */
export interface ShapeUse {
  /** The first row that has it; rows without a domain do not count. */
  readonly firstRow: number;
  /** How many rows have it. */
  readonly rows: number;
}

/** The shapes of a list's answers, by number. */
export type ShapeUses = ReadonlyMap<number, ShapeUse>;

/** The paths of a list's answers, those that most rows have first. */
export interface RankedPaths {
  readonly paths: Shape;
  /** Whether there are more, which hardly any row has. */
  readonly isCut: boolean;
}

export interface RankOptions {
  readonly findShape: (id: number) => Shape | undefined;
  /** How many of the rows that have a path have a value there, from 0 to 1. @default all of them */
  readonly filledShareOf?: (path: readonly string[]) => number;
  /** The most paths that are wanted. */
  readonly most: number;
}

/** Answers with names such as colours or dates have no end of paths; counting them must have one. */
const MOST_COUNTED = 20_000;

interface CountedPath {
  readonly path: readonly string[];
  rows: number;
}

/**
 * Orders the paths of a list's answers by how many rows have a value there. Those that as many rows
 * have are in the order of the answers.
 */
export function rankPaths(uses: ShapeUses, options: RankOptions): RankedPaths {
  const { findShape, filledShareOf = () => 1, most } = options;
  const { counted, hasForgotten } = countPaths(uses, findShape);
  for (const each of counted.values()) each.rows *= filledShareOf(each.path);
  const best = new Map([...counted].sort(byRows).slice(0, most));
  const rows = (path: readonly string[]): number => best.get(keyOf(path))?.rows ?? 0;
  const paths = inOrderOfAnswers(uses, findShape, best);
  return {
    paths: [...paths].sort((one, other) => rows(other) - rows(one)),
    isCut: hasForgotten || counted.size > best.size,
  };
}

/** Common shapes come first, so what is forgotten when there is too much is rare. */
function countPaths(
  uses: ShapeUses,
  findShape: RankOptions['findShape'],
): { readonly counted: Map<string, CountedPath>; readonly hasForgotten: boolean } {
  const common = [...uses].sort(
    ([, one], [, other]) => other.rows - one.rows || one.firstRow - other.firstRow,
  );
  let counted = new Map<string, CountedPath>();
  let hasForgotten = false;
  for (const [id, { rows }] of common) {
    for (const path of findShape(id) ?? []) {
      const key = keyOf(path);
      const known = counted.get(key);
      if (known) known.rows += rows;
      else counted.set(key, { path, rows });
    }
    if (counted.size <= MOST_COUNTED) continue;
    counted = new Map([...counted].sort(byRows).slice(0, MOST_COUNTED / 2));
    hasForgotten = true;
  }
  return { counted, hasForgotten };
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
