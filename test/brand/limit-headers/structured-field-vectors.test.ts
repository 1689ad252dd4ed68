import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDictionary, parseItem, parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { findLimits } from '../../../src/brand/limit-headers/find-limits.ts';
import { parsePolicies } from '../../../src/brand/limit-headers/policy.ts';

/** Other people's vectors, which are not part of this project. */
const material = process.env['BRANDFILL_TEST_MATERIAL'];
const why = material === undefined ? ' (skipped: BRANDFILL_TEST_MATERIAL is not set)' : '';
if (why !== '') console.info(`Vectors of structured fields are not tested${why}`);

interface Vector {
  readonly name: string;
  readonly raw?: readonly string[];
  readonly header_type: 'item' | 'list' | 'dictionary';
  readonly must_fail?: boolean;
  readonly can_fail?: boolean;
}

const PARSERS = { item: parseItem, list: parseList, dictionary: parseDictionary };

function vectors(): readonly (Vector & { readonly raw: readonly string[] })[] {
  const folder = join(material ?? '', 'structured-field-tests');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Vector[])
    .flatMap((vector) => (vector.raw ? [{ ...vector, raw: vector.raw }] : []));
}

function isAccepted({ raw, header_type: type }: ReturnType<typeof vectors>[number]): boolean {
  try {
    PARSERS[type](raw.join(', '));
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(material === undefined)(`vectors of structured fields${why}`, () => {
  it('are accepted and refused as they say, all 1,591', () => {
    const all = vectors();
    const differing = all.filter(
      (vector) => !vector.can_fail && isAccepted(vector) === (vector.must_fail ?? false),
    );
    expect(differing.map(({ name }) => name)).toEqual([]);
    expect(all).toHaveLength(1_591);
  });

  it('never make the reading of policies throw', () => {
    const time = { nowMs: 0, date: undefined };
    for (const { raw } of vectors()) {
      for (const policy of parsePolicies(raw.join(', '), time))
        expect(policy.remaining).toBeUndefined();
      findLimits({ ratelimit: raw, 'ratelimit-policy': raw, 'ratelimit-limit': raw }, time);
    }
  });
});
