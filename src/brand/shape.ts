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

/**
 * The most names in an answer that has a shape, objects included, and the most characters in all of
 * its paths. Beyond that its names are data, such as the ids of its parts, and no columns.
 */
export const MOST_NAMES = 2_000;
const MOST_CHARACTERS = 100_000;

/** Whether paths may be the columns of one answer. */
export function isShape(paths: Shape): boolean {
  if (paths.length > MOST_NAMES) return false;
  let characters = 0;
  for (const path of paths) for (const name of path) characters += name.length;
  return characters <= MOST_CHARACTERS;
}

/** One step along the names of an answer. The last step of an answer holds its shape. */
interface Step {
  readonly values: Map<string, Step>;
  readonly objects: Map<string, Step>;
  outOfObject?: Step;
  /** `null` for paths that are too long. */
  shape?: Shape | null;
}

/**
 * Answers of one API take few ways through the steps. Past this many steps, or characters in their
 * names, they are all forgotten.
 */
const MOST_STEPS = 20_000;
const MOST_STEP_CHARACTERS = 2_000_000;

/**
 * Makes a `shapeOf` that returns the same object for all answers with the same columns, so that
 * maps can be keyed by shape without looking into it. It walks along the names of an answer instead
 * of building the list of paths, which takes a third of the time. Undefined for an answer with more
 * names than a shape may have.
 */
export function createShapeFinder(): (answer: JsonObject) => Shape | undefined {
  let steps = 0;
  let characters = 0;
  let start = createStep();
  /** How many names of the present answer were met. */
  let names = 0;

  function createStep(): Step {
    steps += 1;
    return { values: new Map(), objects: new Map() };
  }

  function next(ways: Map<string, Step>, name: string): Step {
    const known = ways.get(name);
    if (known) return known;
    const step = createStep();
    characters += name.length;
    ways.set(name, step);
    return step;
  }

  /** @returns undefined when there are too many names */
  function follow(object: JsonObject, from: Step, depth: number): Step | undefined {
    let step = from;
    for (const name of Object.keys(object)) {
      names += 1;
      if (names > MOST_NAMES) return undefined;
      const value = object[name];
      if (isJsonObject(value) && depth < MAX_DEPTH) {
        const inner = follow(value, next(step.objects, name), depth + 1);
        if (!inner) return undefined;
        inner.outOfObject ??= createStep();
        step = inner.outOfObject;
      } else step = next(step.values, name);
    }
    return step;
  }

  return (answer) => {
    if (steps > MOST_STEPS || characters > MOST_STEP_CHARACTERS) {
      steps = 0;
      characters = 0;
      start = createStep();
    }
    names = 0;
    const end = follow(answer, start, 1);
    if (end?.shape === undefined && end) {
      const shape = shapeOf(answer);
      end.shape = isShape(shape) ? shape : null;
    }
    return end?.shape ?? undefined;
  };
}

const NO_COLUMNS: Shape = [];

/**
 * The same for the text of an answer. A text that is not a JSON object has no columns.
 */
export function createShapeReader(): (json: string) => Shape | undefined {
  const shapeOf = createShapeFinder();
  return (json) => {
    const answer = json === '' ? undefined : findRoundedJsonObject(json);
    return answer ? shapeOf(answer) : NO_COLUMNS;
  };
}
