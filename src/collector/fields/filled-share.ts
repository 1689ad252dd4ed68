import { findJsonObject } from '../../brand/json-object.ts';
import { createShapeFinder } from '../../brand/shape.ts';
import type { RowAnswers } from '../row-answers.ts';
import type { DomainSample } from './domain-sample.ts';
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
