import { createHash } from 'node:crypto';
import type { Shape } from '../../../brand/shape.ts';

/** What the entry of an outcome says of the columns that its answer has. */
export interface ShapeNote {
  /** Names the shape: the same for the same columns, whichever worker has found them. */
  readonly shape?: string;
  /** The shape itself, at its first place in a log. */
  readonly paths?: Shape;
}

/** Of so many shapes the names are known; past that the memory of them starts anew. */
const MOST_KNOWN = 10_000;
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

/** Shapes by name, one object for each: whoever keeps something by shape need not look into it. */
export class KnownShapes {
  readonly #shapes = new Map<string, Shape>();

  /** @param paths the shape, where its entry spells it out */
  find(name: string, paths: Shape | undefined): Shape | undefined {
    const known = this.#shapes.get(name);
    if (known || !paths) return known;
    if (this.#shapes.size >= MOST_KNOWN) this.#shapes.clear();
    this.#shapes.set(name, paths);
    return paths;
  }
}
