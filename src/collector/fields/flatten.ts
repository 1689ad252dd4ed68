import { isJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { MAX_DEPTH, type Shape } from '../../brand/shape.ts';

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
