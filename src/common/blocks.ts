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
  /** Whether there may be a run in a text, told with one look at each character. */
  readonly mayBeIn: (text: string) => boolean;
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
      mayBeIn: (text) => hasRow(text, isAscii ? ASCII_IN_BASE64 : ANY_IN_BASE64, groups * 4),
      start: new RegExp(`${group}(?:${gap}${group}){${groups - 1}}`, 'g'),
      whole: /(?:[\w+/\s\0-]|\\[nrt])*/y,
      skipped: /(?:[\s\0]|\\[nrt])+/g,
      bits: 6,
      encoding: 'base64',
      token: /[\w+/=-]/,
    },
    {
      mayBeIn: (text) =>
        /0[\s\0]*x/i.test(text) || hasRow(text, isAscii ? ASCII_IN_HEX : ANY_IN_HEX, shortest * 2),
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

/** The characters of a group. */
interface Groups {
  readonly size: number;
  /** By code: a bit for each place of a group where the character may be, or {@link SKIPPED}. */
  readonly masks: Uint8Array;
}

const SKIPPED = 1 << 7;

/** @param forms what may be at each place */
function groupsOf(forms: readonly RegExp[], skipped: RegExp): Groups {
  const masks = Uint8Array.from({ length: 128 }, (_, code) => {
    const char = String.fromCharCode(code);
    if (skipped.test(char)) return SKIPPED;
    return forms.reduce((mask, form, place) => (form.test(char) ? mask | (1 << place) : mask), 0);
  });
  return { size: forms.length, masks };
}

const GAP_IN_BASE64 = /[\s\0\\]/;
const GAP_IN_HEX = /[\s\0\\:,;+-]/;
const ASCII_IN_BASE64 = groupsOf(
  [32, 8, 2, 0].map((bit) => new RegExp(`[${base64Where(bit)}]`)),
  GAP_IN_BASE64,
);
const ANY_IN_BASE64 = groupsOf([new RegExp(`[${base64Where(0)}]`)], GAP_IN_BASE64);
const ASCII_IN_HEX = groupsOf([/[0-7]/, /[\da-f]/i], GAP_IN_HEX);
const ANY_IN_HEX = groupsOf([/[\da-f]/i], GAP_IN_HEX);

/** Whether so many characters that could be groups follow each other, wherever the first begins. */
function hasRow(text: string, { size, masks }: Groups, length: number): boolean {
  if (!hasRun(text, masks, length)) return false;
  /** How many follow each other, for each place where the first group may begin. */
  const rows = new Uint32Array(size);
  let index = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const mask = code < 128 ? (masks[code] ?? 0) : 0;
    if (mask === SKIPPED || isLineEnd(text, at)) continue;
    for (let phase = 0; phase < size; phase += 1) {
      const place = (index + phase) % size;
      const row = rows[phase] ?? 0;
      const isNext = (mask & (1 << place)) !== 0 && (row > 0 || place === 0);
      rows[phase] = isNext ? row + 1 : 0;
      if (isNext && row + 1 >= length) return true;
    }
    index += 1;
  }
  return false;
}

/** The same without regard to groups: most texts are done with then. */
function hasRun(text: string, masks: Uint8Array, length: number): boolean {
  let run = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const mask = code < 128 ? masks[code] : 0;
    if (mask === 0) run = 0;
    else if (mask !== SKIPPED) run += 1;
    if (run >= length) return true;
  }
  return false;
}

/** Whether it is the letter of an escape such as `\n`. */
function isLineEnd(text: string, at: number): boolean {
  return text.charCodeAt(at - 1) === 92 && /[nrt]/.test(text.charAt(at));
}

/** All that a text may hold in base64 or hex, decoded. */
export function* runsOf(text: string, block: Block): Generator<Run, void, void> {
  const { start, whole, skipped, bits, encoding, token } = block;
  if (!block.mayBeIn(text)) return;
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
