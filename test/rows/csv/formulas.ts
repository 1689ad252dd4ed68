/**
 * What a spreadsheet runs, written down from the standard and not from our code: signs that begin a
 * formula, and what is not seen in front of them.
 */

/** White space, controls, and what Unicode lets programs ignore, as first and last code point. */
const UNSEEN: readonly (readonly [from: number, to: number])[] = [
  [0x0000, 0x0020], // controls and the space
  [0x007f, 0x00a0], // more controls, and the no-break space
  [0x00ad, 0x00ad], // soft hyphen
  [0x034f, 0x034f], // grapheme joiner
  [0x061c, 0x061c], // Arabic letter mark
  [0x115f, 0x1160], // Hangul fillers
  [0x1680, 0x1680], // Ogham space
  [0x17b4, 0x17b5], // Khmer vowels without a shape
  [0x180b, 0x180f], // Mongolian separators
  [0x2000, 0x200f], // spaces by width, zero-width ones, marks of direction
  [0x2028, 0x202f], // line and paragraph separators, embeddings, narrow no-break space
  [0x205f, 0x206f], // mathematical space, word joiner, isolates
  [0x2800, 0x2800], // Braille without dots
  [0x3000, 0x3000], // ideographic space
  [0x3164, 0x3164], // Hangul filler
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff], // byte order mark
  [0xffa0, 0xffa0], // half-width Hangul filler
  [0x1_d173, 0x1_d17a], // beams and slurs without a shape
  [0xe_0001, 0xe_0001], // language tag
  [0xe_0020, 0xe_007f], // tags
  [0xe_0100, 0xe_01ef], // more variation selectors
];

export const UNSEEN_CHARACTERS: readonly string[] = UNSEEN.flatMap(([from, to]) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at)),
);

export const FORMULA_SIGNS: readonly string[] = Array.from('=+-@＝＋－＠﹦﹢﹣﹫');

/** The text as it should stand in a cell. */
export function inCell(text: string): string {
  const isRun = FORMULA_SIGNS.includes(Array.from(text).find((one) => !isUnseen(one)) ?? '');
  return isRun || text.startsWith('\t') || text.startsWith('\r') ? `'${text}` : text;
}

function isUnseen(character: string): boolean {
  return UNSEEN_CHARACTERS.includes(character);
}
