import { isJsonObject, type JsonObject } from '../brand/answer.ts';
import type { Shape } from '../store/shapes.ts';

/** Deeper objects stay whole: nobody wants a column for each of their leaves. */
export const MAX_DEPTH = 8;

/**
 * The paths to all values of an answer, in its order. Lists are values; so are objects deeper than
 * eight levels.
 */
export function shapeOf(answer: JsonObject): Shape {
  const paths: (readonly string[])[] = [];
  visit(answer, [], paths);
  return paths;
}

function visit(object: JsonObject, path: readonly string[], paths: (readonly string[])[]): void {
  for (const name of Object.keys(object)) {
    const here = [...path, name];
    const value = object[name];
    if (isJsonObject(value) && here.length < MAX_DEPTH) visit(value, here, paths);
    else paths.push(here);
  }
}

/** One step on the way through the names of answers; where a way ends, there is the shape. */
interface Step {
  readonly values: Map<string, Step>;
  readonly objects: Map<string, Step>;
  outOfObject?: Step;
  shape?: Shape;
}

/** Answers of one API take few ways; past this many steps the memory of them starts anew. */
const MOST_STEPS = 20_000;

/**
 * Makes a `shapeOf` that gives all answers with the same columns the same object. It goes along the
 * names of an answer instead of writing them down, which costs a third, and whoever keeps something
 * by shape need not look into it.
 */
export function createShapeFinder(): (answer: JsonObject) => Shape {
  let steps = 0;
  let start = createStep();

  function createStep(): Step {
    steps += 1;
    return { values: new Map(), objects: new Map() };
  }

  function next(ways: Map<string, Step>, name: string): Step {
    const known = ways.get(name);
    if (known) return known;
    const step = createStep();
    ways.set(name, step);
    return step;
  }

  function follow(object: JsonObject, from: Step, depth: number): Step {
    let step = from;
    for (const name of Object.keys(object)) {
      const value = object[name];
      if (isJsonObject(value) && depth < MAX_DEPTH) {
        step = follow(value, next(step.objects, name), depth + 1);
        step.outOfObject ??= createStep();
        step = step.outOfObject;
      } else step = next(step.values, name);
    }
    return step;
  }

  return (answer) => {
    if (steps > MOST_STEPS) {
      steps = 0;
      start = createStep();
    }
    const end = follow(answer, start, 1);
    end.shape ??= shapeOf(answer);
    return end.shape;
  };
}

/** The value at a path; undefined where this answer has none, or has a structure there. */
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
  /** Whether some were left out because there are too many. */
  readonly isFull: boolean;
}

/**
 * Joins shapes into one list of columns. A path that is new goes behind the one it follows in its
 * own shape, so that related columns stay together whichever row has them first.
 *
 * @param most how many columns there may be
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
