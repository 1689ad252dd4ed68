import fc from 'fast-check';

/** The halves of pairs, which are no characters of their own. */
const HALVES = { from: 0xd800, count: 0x800 };

/**
 * Any character of Unicode: the same as the unit `binary` of fast-check, which takes most of a
 * second to list all million of them in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10_ffff - HALVES.count })
  .map(characterAt, placeOf);

function characterAt(place: number): string {
  return String.fromCodePoint(place < HALVES.from ? place : place + HALVES.count);
}

function placeOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== text) throw new Error('no character');
  return code < HALVES.from ? code : code - HALVES.count;
}
