import { createHash } from 'node:crypto';
import { isShape, type Shape } from '../brand/shape.ts';

/** Where shapes are stored: by number, as JSON. */
export interface ShapeTable {
  get(id: number): string | undefined;
  put(id: number, json: string): unknown;
  /** How many shapes there are, and what room they take. */
  size(): { readonly shapes: number; readonly sizeBytes: number };
}

/** Gives every shape a number, so that an outcome can state its columns in six bytes. */
export interface ShapeRegistry {
  /**
   * The number of an answer's columns. It is {@link UNSHAPED} when they are unknown, and for a new
   * shape when there are too many others.
   *
   * @param shape undefined when the answer has too many columns
   */
  idOf(shape: Shape | undefined): number;
  /**
   * Stores a shape in the transaction of the answers that have it: the one that stored it first may
   * have been removed meanwhile, and the shape with it. Does nothing when it is there.
   */
  keep(id: number, shape: Shape | undefined): unknown;
  /** Whether no further shape is stored. */
  isFull(): boolean;
  /** Undefined for an answer whose columns are unknown. */
  find(id: number): Shape | undefined;
}

/** The number of no columns. */
const NO_COLUMNS = 0;
/** The number of columns that are unknown, because there are too many. */
export const UNSHAPED = 1;

/**
 * Answers of one API have few shapes. Past this many, or this much, the names in them are data: an
 * answer with another shape is stored as {@link UNSHAPED}.
 */
export const MOST_SHAPES = 50_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** No shape is longer: each character of a name takes at most six in JSON. */
const MOST_JSON = 700_000;

/** What is remembered in memory. Past it, everything is forgotten. */
const MOST_REMEMBERED = 10_000;
const MOST_REMEMBERED_PATHS = 200_000;

/**
 * The number of a shape is derived from its content, so that processes that share a store agree on
 * it without communication. A number that another shape has is skipped.
 */
export function createShapeRegistry(table: ShapeTable): ShapeRegistry {
  /** Numbers by the hash of the shape. */
  const ids = new Map<string, number>();
  /** Avoids hashing a shape object that was seen before. */
  const idsOfObjects = new WeakMap<Shape, number>();
  const shapes = new Map<number, Shape>();
  let rememberedPaths = 0;

  function findId(shape: Shape): number {
    const json = JSON.stringify(shape);
    const hash = createHash('sha256').update(json).digest();
    const name = hash.toString('base64');
    const known = ids.get(name);
    if (known !== undefined) return known;
    let id = Math.max(hash.readUIntLE(0, 6), UNSHAPED + 1);
    let taken = table.get(id);
    for (; taken !== undefined && taken !== json; taken = table.get(id)) id += 1;
    if (taken === undefined && isFull()) return UNSHAPED;
    if (ids.size >= MOST_REMEMBERED) ids.clear();
    ids.set(name, id);
    return id;
  }

  function isFull(): boolean {
    const { shapes: count, sizeBytes } = table.size();
    return count >= MOST_SHAPES || sizeBytes >= MOST_BYTES;
  }

  return {
    idOf: (shape) => {
      if (!shape) return UNSHAPED;
      if (shape.length === 0) return NO_COLUMNS;
      const id = idsOfObjects.get(shape) ?? findId(shape);
      if (id !== UNSHAPED) idsOfObjects.set(shape, id);
      return id;
    },
    keep: (id, shape) => {
      if (!shape || id <= UNSHAPED || table.get(id) !== undefined) return undefined;
      return table.put(id, JSON.stringify(shape));
    },
    isFull,
    find: (id) => {
      if (id === NO_COLUMNS) return [];
      const known = shapes.get(id);
      if (known) return known;
      const shape = readShape(table.get(id));
      if (!shape) return undefined;
      rememberedPaths += shape.length;
      if (shapes.size >= MOST_REMEMBERED || rememberedPaths > MOST_REMEMBERED_PATHS) {
        shapes.clear();
        rememberedPaths = shape.length;
      }
      shapes.set(id, shape);
      return shape;
    },
  };
}

/** Undefined when there is none, or one of an older version with too many columns. */
function readShape(json: string | undefined): Shape | undefined {
  if (json === undefined || json.length > MOST_JSON) return undefined;
  const shape = JSON.parse(json) as Shape;
  return isShape(shape) ? shape : undefined;
}
