import type { Span } from './blocks.ts';

/**
 * What stands in a text can be read in several ways: `%2F` is itself, or a slash; `%252F` is also
 * `%2F`. Here is what escapes of JSON, URLs and HTML may mean, one within another.
 */
/** One way to read what stands at a place. */
interface Reading {
  readonly symbol: string;
  readonly end: number;
}

/** An escape that takes more characters than this is none. */
const LONGEST_ESCAPE = 120;
const MOST_READINGS = 16;

/** Reads a text symbol by symbol, each in all ways. */
export class Reader {
  readonly text: string;
  readonly #known = new Map<number, readonly Reading[]>();
  #isRead = false;

  constructor(text: string) {
    this.text = text;
  }

  /** All ways to read what stands at a place: as it is, and decoded, be it many times. */
  at(place: number): readonly Reading[] {
    const symbol = this.text.charAt(place);
    if (symbol === '') return [];
    if (!ESCAPES.has(symbol)) return [{ symbol, end: place + 1 }];
    if (!this.#isRead) this.#readEscapes();
    return this.#known.get(place) ?? this.#read(place);
  }

  /** Backwards, so that what an escape is made of is known: there is no end to escapes in escapes. */
  #readEscapes(): void {
    this.#isRead = true;
    for (let place = this.text.length - 1; place >= 0; place -= 1) {
      const code = this.text.charCodeAt(place);
      if (code === PERCENT || code === BACKSLASH || code === AMPERSAND) {
        this.#known.set(place, this.#read(place));
      }
    }
  }

  #read(place: number): readonly Reading[] {
    const symbol = this.text.charAt(place);
    const readings: Reading[] = [{ symbol, end: place + 1 }];
    if (this.#isNone(symbol, place + 1)) return readings;
    // So that a long row of them does not take long.
    const isRow = symbol === '\\' && this.text.charAt(place + 1) === '\\';
    if (isRow) return [...this.at(place + 1).slice(0, MOST_READINGS - 1), ...readings];
    // Grows while it is read: what was decoded may begin an escape in turn.
    for (const reading of readings) {
      for (const decoded of ESCAPES.get(reading.symbol)?.(this, reading.end) ?? []) {
        const isNew = readings.every(
          ({ symbol: one, end }) => one !== decoded.symbol || end !== decoded.end,
        );
        if (readings.length === MOST_READINGS) return readings;
        if (isNew && decoded.end - place <= LONGEST_ESCAPE) readings.push(decoded);
      }
    }
    return readings;
  }

  /** Whether what comes shows at once that there is no escape, as mostly after an ampersand. */
  #isNone(symbol: string, next: number): boolean {
    if (symbol !== '%' && symbol !== '&') return false;
    const form = symbol === '%' ? MAY_FOLLOW_PERCENT : MAY_FOLLOW_AMPERSAND;
    form.lastIndex = this.afterGap(next);
    return !form.test(this.text);
  }

  /** An escape may be broken into lines too. */
  afterGap(place: number): number {
    let next = place;
    while (next < this.text.length && kindOf(this.text.charCodeAt(next)) === GAP) next += 1;
    return next;
  }

  /** All ways to read a given symbol at a place. */
  ends(place: number, symbol: string): readonly number[] {
    return this.at(this.afterGap(place))
      .filter((reading) => reading.symbol === symbol)
      .map(({ end }) => end);
  }

  /** All ways to read so many symbols of a kind, from the most to the fewest. */
  words(place: number, kind: RegExp, [least, most]: readonly [number, number]): readonly Reading[] {
    if (most === 0) return [{ symbol: '', end: place }];
    const longer = this.at(this.afterGap(place))
      .filter(({ symbol }) => kind.test(symbol))
      .flatMap(({ symbol, end }) =>
        this.words(end, kind, [Math.max(0, least - 1), most - 1]).map((rest) => ({
          symbol: symbol + rest.symbol,
          end: rest.end,
        })),
      );
    return least === 0 ? [...longer, { symbol: '', end: place }] : longer;
  }

  /** The text with everything decoded that may be an escape, except tags. */
  decodeAll(): { readonly text: string; readonly spanOf: (start: number, end: number) => Span } {
    const places: number[] = [];
    let text = '';
    let place = 0;
    while (place < this.text.length) {
      places.push(place);
      const char = this.text.charAt(place);
      const isEscape = kindOf(char.charCodeAt(0)) === ESCAPE && char !== '<';
      let longest: Reading = { symbol: char, end: place + 1 };
      for (const reading of isEscape ? this.at(place) : []) {
        if (reading.end > longest.end) longest = reading;
      }
      text += longest.symbol;
      place = longest.end;
    }
    places.push(place);
    return { text, spanOf: (start, end) => [places[start] ?? 0, places[end] ?? place] };
  }
}

const [PERCENT, BACKSLASH, AMPERSAND] = ['%', '\\', '&'].map((char) => char.charCodeAt(0));

/** Reads what comes after the symbol that begins an escape. */
type Escape = (reader: Reader, place: number) => readonly Reading[];

const HEX = /^[\da-f]$/i;
const DIGIT = /^\d$/;
const LETTER = /^[a-z]$/i;

/** The escapes, by the symbol that begins them: what comes after it gives another symbol. */
const ESCAPES: ReadonlyMap<string, Escape> = new Map<string, Escape>([
  ['%', afterPercent],
  ['\\', afterBackslash],
  ['&', afterAmpersand],
  ['<', afterTag],
  ['+', (_, place) => [{ symbol: ' ', end: place }]],
]);
/** What decodes to a character of base64. */
export const ESCAPE_IN_BLOCK: RegExp =
  /\\[/ux0-7\\]|%[2-7u]|&(?:#|amp|sol|plus|lowbar|percnt|bsol)/i;

function afterPercent(reader: Reader, place: number): readonly Reading[] {
  const code = reader.text.slice(place, place + 2);
  if (/^[\da-f]{2}$/i.test(code)) return byCode([{ symbol: code, end: place + 2 }], 16);
  return [...byCode(reader.words(place, HEX, [2, 2]), 16), ...unicode(reader, place)];
}

/** Escapes may be made of escapes. */
const MAY_FOLLOW_PERCENT = /[\da-f\\%&u]/iy;

/** `\u0041` and `%u0041` */
function unicode(reader: Reader, place: number): readonly Reading[] {
  return reader.ends(place, 'u').flatMap((end) => byCode(reader.words(end, HEX, [4, 4]), 16));
}

function afterBackslash(reader: Reader, from: number): readonly Reading[] {
  const place = reader.afterGap(from);
  const next = reader.text.charAt(place);
  if (/[^ux\d\\%&<]/.test(next)) {
    return [{ symbol: /[nrtbfv]/.test(next) ? '\n' : next, end: place + 1 }];
  }
  const code = next === 'u' ? reader.text.slice(place + 1, place + 5) : '';
  if (/^[\da-f]{4}$/i.test(code)) return byCode([{ symbol: code, end: place + 5 }], 16);
  const plain = reader
    .at(place)
    .filter(({ symbol }) => !/^[ux\d]$/.test(symbol))
    .map(({ symbol, end }) => ({ symbol: /^[nrtbfv]$/.test(symbol) ? '\n' : symbol, end }));
  const inBraces = reader
    .ends(place, 'u')
    .flatMap((end) => reader.ends(end, '{'))
    .flatMap((end) => closedBy(reader, byCode(reader.words(end, HEX, [1, 6]), 16), '}'));
  return [
    ...plain,
    ...unicode(reader, place),
    ...inBraces,
    ...reader.ends(place, 'x').flatMap((end) => byCode(reader.words(end, HEX, [2, 2]), 16)),
    ...byCode(reader.words(place, /^[0-7]$/, [1, 3]), 8),
  ];
}

function afterAmpersand(reader: Reader, place: number): readonly Reading[] {
  ENTITY.lastIndex = place;
  const [written, decimal, hex, name] = ENTITY.exec(reader.text) ?? [];
  if (written !== undefined) {
    const end = place + written.length;
    const code = decimal ?? hex;
    if (code !== undefined) return byCode([{ symbol: code, end }], decimal === undefined ? 16 : 10);
    return [{ symbol: ENTITIES.get(name?.toLowerCase() ?? '') ?? '', end }];
  }
  const afterSign = reader.ends(place, '#');
  const afterX = afterSign.flatMap((end) => [...reader.ends(end, 'x'), ...reader.ends(end, 'X')]);
  const numbers = [
    ...afterSign.flatMap((end) => byCode(reader.words(end, DIGIT, [1, 7]), 10)),
    ...afterX.flatMap((end) => byCode(reader.words(end, HEX, [1, 6]), 16)),
  ];
  const names = reader.words(place, LETTER, [2, 8]).flatMap(({ symbol, end }) => {
    const named = ENTITIES.get(symbol.toLowerCase());
    return named === undefined ? [] : [{ symbol: named, end }];
  });
  const open = [...numbers, ...names];
  return [...open, ...closedBy(reader, open, ';')];
}

/** A tag, such as `<br>`, shows nothing. */
function afterTag(reader: Reader, place: number): readonly Reading[] {
  let end = place;
  while (end - place < LONGEST_ESCAPE && reader.text.charAt(end) !== '<') {
    const readings = reader.at(end);
    const closings = readings.filter(({ symbol }) => symbol === '>');
    if (closings.length > 0) return closings.map((closing) => ({ symbol: '\n', end: closing.end }));
    const last = readings.at(-1);
    if (!last || readings.some(({ symbol }) => symbol === '<')) return [];
    end = last.end;
  }
  return [];
}

function closedBy(
  reader: Reader,
  readings: readonly Reading[],
  symbol: string,
): readonly Reading[] {
  return readings.flatMap((reading) =>
    reader.ends(reading.end, symbol).map((end) => ({ symbol: reading.symbol, end })),
  );
}

function byCode(words: readonly Reading[], base: number): readonly Reading[] {
  return words.flatMap(({ symbol, end }) => {
    const code = Number.parseInt(symbol, base);
    return code <= 0xffff ? [{ symbol: String.fromCharCode(code), end }] : [];
  });
}

/** HTML's names for what a credential may hold, each before its character. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  Array.from(
    String.raw`excl!quot"num#dollar$percnt%amp&apos'lpar(rpar)ast*midast*plus+comma,period.sol/colon:semi;lt<equals=gt>quest?commat@lsqb[lbrack[bsol\rsqb]rbrack]hat^lowbar_grave${'`'}lcub{lbrace{verbar|vert|rcub}rbrace}nbsp tab newline shy `.matchAll(
      /([a-z]+)([^a-z])/g,
    ),
    ([, name = '', char = '']) => [name, char],
  ),
);

const MAY_FOLLOW_AMPERSAND = new RegExp(String.raw`#|[a-z\s\0]*[\\%&]|(?:${entityNames()})`, 'iy');

/** An entity that is not written in escapes in turn. */
const ENTITY = new RegExp(
  String.raw`(?:#0*(\d{1,5})|#x0*([\da-f]{1,4})|(${[...ENTITIES.keys()].join('|')}));`,
  'iy',
);

function entityNames(): string {
  return [...ENTITIES.keys()].map((name) => Array.from(name).join(String.raw`[\s\0]*`)).join('|');
}

const PLAIN = 0;
/** May begin an escape. */
export const ESCAPE = 1;
/**
 * May stand between any two characters of a secret: white space, controls, invisible ones, and what
 * their bytes in UTF-8 are taken for.
 */
export const GAP = 2;
const GAPS = /[\s\p{Cc}\p{Cf}ÂâÏï»¿]/gu;

export function kindOf(code: number): number {
  return code < 128 ? (KINDS[code] ?? PLAIN) : kindOfChar(String.fromCharCode(code));
}

function kindOfChar(char: string): number {
  if (ESCAPES.has(char)) return ESCAPE;
  return char.replaceAll(GAPS, '') === '' ? GAP : PLAIN;
}

/** Of the characters of ASCII. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOfChar(String.fromCharCode(code)));

export function withoutGaps(secret: string): string {
  return secret.replaceAll(GAPS, '');
}
