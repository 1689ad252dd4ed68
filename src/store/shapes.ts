import { createHash } from 'node:crypto';
import type { Shape } from '../brand/shape.ts';

/** Where shapes are stored: by number, as JSON. */
export interface ShapeTable {
  get(id: number): string | undefined;
  put(id: number, json: string): void;
}

/** Gives every shape a number, so that an outcome can state its columns in six bytes. */
export interface ShapeRegistry {
  idOf(shape: Shape): number;
  find(id: number): Shape | undefined;
}

/** Answers of one API have few shapes. Past this many, those in memory are all forgotten. */
const MAX_REMEMBERED = 10_000;

/**
 * The number of a shape is derived from its content, so that processes that share a store agree on
 * it without communication. A number that another shape has is skipped.
 */
export function createShapeRegistry(table: ShapeTable): ShapeRegistry {
  const ids = new Map<string, number>();
  /** Avoids hashing a shape object that was seen before. */
  const idsOfObjects = new WeakMap<Shape, number>();
  const shapes = new Map<number, Shape>();

  function idOf(shape: Shape): number {
    const id = idsOfObjects.get(shape) ?? findId(shape);
    idsOfObjects.set(shape, id);
    return id;
  }

  function findId(shape: Shape): number {
    const json = JSON.stringify(shape);
    const known = ids.get(json);
    if (known !== undefined) return known;
    let id = hash48(json);
    for (let taken = table.get(id); taken !== undefined && taken !== json; taken = table.get(id)) {
      id += 1;
    }
    table.put(id, json);
    if (ids.size >= MAX_REMEMBERED) ids.clear();
    ids.set(json, id);
    return id;
  }

  function find(id: number): Shape | undefined {
    const known = shapes.get(id);
    if (known) return known;
    const json = table.get(id);
    if (json === undefined) return undefined;
    const shape = JSON.parse(json) as Shape;
    if (shapes.size >= MAX_REMEMBERED) shapes.clear();
    shapes.set(id, shape);
    return shape;
  }

  return { idOf, find };
}

/** Never 0, which stands for no shape. */
function hash48(text: string): number {
  return createHash('sha256').update(text).digest().readUIntLE(0, 6) || 1;
}
