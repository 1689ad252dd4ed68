import * as fc from 'fast-check';
import type { JsonObject } from '../../src/brand/json-object.ts';
import { createPathFinder, type Path } from '../../src/collector/fields/enriched-columns.ts';
import { anyCharacter } from '../support/any-character.ts';

/** Names that somebody might give, and that are odd in JMESPath, in columns or in JavaScript. */
const oddName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', ' ', ...'a b a_b let in " \' ` x.y x-y 0 é \\ @ * $ [0] 日本 😀'.split(' ')),
  fc.constantFrom('\u001b[31m', 'constructor', '__proto__'),
  fc.string({ unit: anyCharacter }),
);

/** Answers whose names are odd and often the same. */
export const oddAnswer: fc.Arbitrary<JsonObject> = fc
  .letrec<{ value: unknown; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(1, 'x', '', null, true, [], ['a', 'b'], [{ c: 1 }]),
      tie('object'),
    ),
    object: fc.array(fc.tuple(oddName, tie('value')), { maxLength: 5 }).map(
      // As JSON has it: `__proto__` is a name like any other.
      (entries) => Object.fromEntries(entries),
    ),
  }))
  .object.map((answer) => JSON.parse(JSON.stringify(answer)) as JsonObject);

/** The paths of answers, each in a row of its own. */
export function pathsOf(...given: readonly JsonObject[]): readonly Path[] {
  const finder = createPathFinder();
  for (const [row, answer] of given.entries()) finder.see(JSON.stringify(answer), row, 'acme.com');
  return finder.found().paths;
}
