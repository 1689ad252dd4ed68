import { createHash } from 'node:crypto';
import type { Shape } from '../../../brand/shape.ts';

/** The note in a logged outcome on the columns of its answer. */
export interface ShapeNote {
  /** The name of the shape. All workers use the same name for the same columns. */
  readonly shape?: string;
  /** The shape itself, where it first occurs in a log. */
  readonly paths?: Shape;
}

/** Past this many shapes, or paths in them, all known names are forgotten. */
const MOST_KNOWN = 10_000;
const MOST_PATHS = 200_000;
const HASH_LENGTH = 16;

const names = new WeakMap<Shape, string>();

export function noteShape(shape: Shape, isSpelled: boolean): ShapeNote {
  return isSpelled ? { shape: nameOf(shape) } : { shape: nameOf(shape), paths: shape };
}

function nameOf(shape: Shape): string {
  const known = names.get(shape);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(JSON.stringify(shape)).digest('base64url');
  const name = hash.slice(0, HASH_LENGTH);
  names.set(shape, name);
  return name;
}

/**
 * Shapes by name, one object for each, so that maps can be keyed by shape without looking into it.
 */
export class KnownShapes {
  readonly #shapes = new Map<string, Shape>();
  #paths = 0;

  /** @param paths the shape, if its entry spells it out */
  find(name: string, paths: Shape | undefined): Shape | undefined {
    const known = this.#shapes.get(name);
    if (known || !paths) return known;
    this.#paths += paths.length;
    if (this.#shapes.size >= MOST_KNOWN || this.#paths > MOST_PATHS) {
      this.#shapes.clear();
      this.#paths = paths.length;
    }
    this.#shapes.set(name, paths);
    return paths;
  }
}
