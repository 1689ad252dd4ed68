import { findRoundedJsonObject, isJsonObject, type JsonObject } from './json-object.ts';

/**
 * The columns of one answer, in its order. Each is the path to a value. A path is a list, so names
 * with dots or spaces stay unambiguous.
 */
export type Shape = readonly (readonly string[])[];

/** Deeper objects stay whole: a column for each of their leaves would be of no use. */
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

/** One step along the names of an answer. The last step of an answer holds its shape. */
interface Step {
  readonly values: Map<string, Step>;
  readonly objects: Map<string, Step>;
  outOfObject?: Step;
  shape?: Shape;
}

/**
 * Answers of one API take few ways through the steps. Past this many steps they are all forgotten.
 */
const MOST_STEPS = 20_000;

/**
 * Makes a `shapeOf` that returns the same object for all answers with the same columns, so that
 * maps can be keyed by shape without looking into it. It walks along the names of an answer instead
 * of building the list of paths, which takes a third of the time.
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

const NO_COLUMNS: Shape = [];

/** Makes a `shapeOf` for the text of an answer. A text that is not a JSON object has no columns. */
export function createShapeReader(): (json: string) => Shape {
  const shapeOf = createShapeFinder();
  return (json) => {
    const answer = json === '' ? undefined : findRoundedJsonObject(json);
    return answer ? shapeOf(answer) : NO_COLUMNS;
  };
}
