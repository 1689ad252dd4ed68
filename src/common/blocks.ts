/** From where to where in a text. */
export type Span = readonly [start: number, end: number];

/** A part of a text that may be the encoding of another. */
interface Run {
  readonly inner: string;
  /** Where in the text a part of `inner` is written. */
  readonly spanOf: (start: number, end: number) => Span;
}

/** A way to write bytes as characters. */
export interface Block {
  /** Finds where a run begins, at most four characters late. */
  readonly start: RegExp;
  readonly whole: RegExp;
  /** What may stand between its characters. */
  readonly skipped: RegExp;
  /** What a character stands for. */
  readonly bits: number;
  readonly encoding: 'base64' | 'hex';
  /** What stands around a secret without a gap is replaced along with it. */
  readonly token: RegExp;
}

/**
 * Base64, also that of URLs, and hex.
 *
 * @param shortest the length of the shortest secret
 * @param isAscii whether all secrets are of ASCII. In base64 four characters that encode ASCII are
 *   one combination in sixteen, so prose is hardly ever taken for it.
 */
export function blocksFor(shortest: number, isAscii: boolean): readonly Block[] {
  const gap = String.raw`(?:[\s\0]|\\[nrt])*`;
  const groups = Math.max(2, Math.floor((shortest - 2) / 3));
  const group = [32, 8, 2, 0].map((bit) => `[${base64Where(isAscii ? bit : 0)}]`).join(gap);
  const pair = `${isAscii ? '[0-7]' : String.raw`[\da-f]`}${gap}[\\da-f](?:[\\s\\0:,;+-]|\\\\[nrt]|0${gap}x)*`;
  return [
    {
      start: new RegExp(`${group}(?:${gap}${group}){${groups - 1}}`, 'g'),
      whole: /(?:[\w+/\s\0-]|\\[nrt])*/y,
      skipped: /(?:[\s\0]|\\[nrt])+/g,
      bits: 6,
      encoding: 'base64',
      token: /[\w+/=-]/,
    },
    {
      start: new RegExp(`(?:${pair}){${shortest}}`, 'gi'),
      whole: /(?:0[\s\0]*x|[\da-f]|[\s\0:,;+-]|\\[nrt])*/iy,
      skipped: /(?:0[\s\0]*x|[\s\0:,;+-]|\\[nrt])+/gi,
      bits: 4,
      encoding: 'hex',
      token: /[\da-f]/i,
    },
  ];
}

/** Characters of base64 whose value has not the bit. */
function base64Where(bit: number): string {
  const has = (value: number): boolean => bit !== 0 && (value & bit) !== 0;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const letters = Array.from(alphabet).filter((_, value) => !has(value));
  return [...letters, ...(has(62) ? [] : ['+', '\\-']), ...(has(63) ? [] : ['/', '_'])].join('');
}

/** All that a text may hold in base64 or hex, decoded. */
export function* runsOf(text: string, block: Block): Generator<Run, void, void> {
  const { start, whole, skipped, bits, encoding, token } = block;
  start.lastIndex = 0;
  for (let found = start.exec(text); found; found = start.exec(text)) {
    let from = found.index;
    // What comes before may belong to it, without being of ASCII.
    while (bits === 6 && found.index - from < 4 && /[\w+/-]/.test(text.charAt(from - 1))) from -= 1;
    whole.lastIndex = from;
    const [run = ''] = whole.exec(text) ?? [];
    const end = from + run.length;
    const chars = run.replaceAll(skipped, '');
    for (let offset = 0; offset < 24 / bits; offset += 1) {
      yield {
        inner: Buffer.from(chars.slice(offset), encoding).toString('latin1'),
        spanOf: (first, last) => {
          const places = placesOf(run, skipped);
          let before = from + (places[offset + Math.floor((first * 8) / bits)] ?? 0);
          let after = from + (places[offset + Math.floor((last * 8 - 1) / bits)] ?? run.length) + 1;
          while (before > 0 && token.test(text.charAt(before - 1))) before -= 1;
          while (token.test(text.charAt(after))) after += 1;
          return [before, after];
        },
      };
    }
    start.lastIndex = Math.max(end, found.index + 1);
  }
}

/** The places of the characters of a run that are not skipped. */
function placesOf(run: string, skipped: RegExp): readonly number[] {
  const places: number[] = [];
  let place = 0;
  for (const gap of [...run.matchAll(skipped), { index: run.length, 0: '' }]) {
    for (; place < gap.index; place += 1) places.push(place);
    place += gap[0].length;
  }
  return places;
}
