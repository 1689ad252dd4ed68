import { findJsonObject } from '../../brand/json-object.ts';
import { createShapeFinder } from '../../brand/shape.ts';
import { hashText } from '../../common/hashes.ts';
import type { RowAnswers } from '../row-answers.ts';
import { valueAt } from './flatten.ts';

export interface FilledShareOptions {
  readonly sample: DomainSample;
  readonly answers: Pick<RowAnswers, 'answerOf'>;
}

/** Paths beyond this many, as of answers whose names are data, are not looked at. */
const MOST_PATHS = 20_000;

/** The sample ends after this many characters, because answers may be long. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/**
 * Estimates from a sample of the answers how many of the rows with a path have a value there. An
 * API may send `null` for an unknown value, which shapes do not show.
 *
 * @returns the share for a path, from 0 to 1; 1 when it is not in the sample
 */
export function measureFilledShares(
  options: FilledShareOptions,
): (path: readonly string[]) => number {
  const { sample, answers } = options;
  const shapeOf = createShapeFinder();
  const paths = new Map<string, { rows: number; filled: number }>();
  let left = MOST_CHARACTERS;
  for (const [domain, rows] of sample.rowsByDomain) {
    const outcome = answers.answerOf(domain);
    if (!outcome) continue;
    left -= outcome.json.length;
    const answer = findJsonObject(outcome.json) ?? {};
    for (const path of shapeOf(answer) ?? []) {
      const key = JSON.stringify(path);
      const known = paths.get(key);
      if (!known && paths.size >= MOST_PATHS) continue;
      const seen = known ?? { rows: 0, filled: 0 };
      seen.rows += rows;
      if (isValue(valueAt(answer, path))) seen.filled += rows;
      paths.set(key, seen);
    }
    if (left < 0) break;
  }
  return (path) => {
    const seen = paths.get(JSON.stringify(path));
    return seen === undefined ? 1 : seen.filled / seen.rows;
  };
}

function isValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}

/** Some of the domains of a list, with the number of rows of each. */
export interface DomainSample {
  /** Must be called for each row that has a domain. */
  add(domain: string): void;
  readonly rowsByDomain: ReadonlyMap<string, number>;
}

const SEED = 3;

/**
 * Takes a sample whose size does not grow with the list. Domains are chosen by their hash, so that
 * nearly the same list gives nearly the same sample, whatever its order.
 *
 * @param most the most domains in it. A longer list gives at least about half as many.
 */
export function createDomainSample(most: number): DomainSample {
  const rowsByDomain = new Map<string, number>();
  const hash = new Uint32Array(2);
  let mask = 0;

  function isIn(domain: string): boolean {
    hashText(domain, SEED, hash, 0);
    return ((hash[0] ?? 0) & mask) === 0;
  }

  return {
    add: (domain) => {
      if (mask !== 0 && !isIn(domain)) return;
      rowsByDomain.set(domain, (rowsByDomain.get(domain) ?? 0) + 1);
      while (rowsByDomain.size > most && mask < 2 ** 30) {
        mask = mask * 2 + 1;
        for (const known of rowsByDomain.keys()) if (!isIn(known)) rowsByDomain.delete(known);
      }
    },
    rowsByDomain,
  };
}
