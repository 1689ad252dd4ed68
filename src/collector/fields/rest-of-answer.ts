import { isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import type { Shape } from '../../brand/shape.ts';
import { MAX_DEPTH } from '../../brand/shape.ts';

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
