/**
 * Takes secrets out of texts that others wrote, such as answers of an API.
 *
 * A server may write what it was sent in many ways: as it came, in other case, with escapes (JSON,
 * URLs, HTML), in base64 or hex, broken into lines, and in one of these within another. So no
 * forms are listed here. A text is read symbol by symbol, each in all the ways in which it can be
 * read, and a secret is found where one way of reading gives it. What may be base64 or hex is
 * decoded, and searched in the same way.
 */
export interface Redactor {
  /**
   * The text with all secrets replaced.
   *
   * @param isCut whether the text goes on where it ends: then it may end within a secret
   */
  text(text: string, isCut?: boolean): string;
  /**
   * The same for an answer in JSON, which stays JSON: a number that is a secret becomes a text.
   * Secrets that are short are left where they are, see `SHORTEST`.
   */
  json(text: string): string;
}

/**
 * A shorter secret occurs in many words, by chance. It is replaced only where it stands as a word of
 * its own, and not in answers, which it would destroy.
 */
const SHORTEST = 6;
/** A shorter part of a secret is none. Some APIs want a key as `key:x`. */
const SHORTEST_PART = 4;

/** @param secrets each as it is, or as `user:password` */
export function createRedactor(secrets: readonly string[]): Redactor {
  const plain = [...new Set(secrets.flatMap(partsOf))];
  const short = createShortRedactor(plain.filter(isShort));
  const finder = createFinder(plain.filter((secret) => !isShort(secret)));
  const text: Redactor['text'] = (given, isCut = false) =>
    short(finder ? replace(given, finder.find(given, isCut)) : given);
  if (!finder) return { text, json: (given) => given };
  const has = (given: string): boolean => finder.find(given, false).length > 0;

  function cleanToken(token: string): string {
    if (!token.startsWith('"')) return has(token) ? JSON.stringify(MARK) : token;
    const said = JSON.parse(token) as string;
    const clean = replace(said, finder?.find(said, false) ?? []);
    const written = clean === said ? token : JSON.stringify(clean);
    // An escape before a secret hides it from who reads the JSON, but not from who reads the text.
    return has(written) ? JSON.stringify(MARK) : written;
  }

  return {
    text,
    json: (given) => {
      if (!has(given)) return given;
      if (!isJson(given)) return text(given);
      const clean = given.replaceAll(STRING_OR_NUMBER, cleanToken);
      return has(clean) ? text(clean) : clean; // better no JSON than a secret
    },
  };
}

/** JSON of a value with all its texts redacted. The names of fields stay, as do numbers. */
export function toRedactedJson(value: unknown, redact: (text: string) => string): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? redact(part) : part,
  );
}

/**
 * Takes secrets out of all texts in a value. Returns a copy.
 *
 * @param value data; parts that JSON cannot hold, such as `undefined`, are lost
 */
export function redactDeep<T extends object>(value: T, redact: (text: string) => string): T {
  return JSON.parse(toRedactedJson(value, redact)) as T;
}

/** `user:password`, as for basic authentication. A secret without a colon is the user. */
export function basicPair(secret: string): string {
  return secret.includes(':') ? secret : `${secret}:`;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Whether a secret is too short to be told from other text. */
export function isShort(secret: string): boolean {
  return Array.from(withoutGaps(secret)).length < SHORTEST;
}

const MARK = '[redacted]';
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

function partsOf(secret: string): readonly string[] {
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  const part = password.length < SHORTEST_PART ? user : password;
  return [secret, part].filter((text) => text !== '');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function createShortRedactor(secrets: readonly string[]): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  const forms = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    base64(secret),
    base64(basicPair(secret)),
  ]);
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length).map(escapeRegExp);
  const words = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${longestFirst.join('|')})(?![\\p{L}\\p{N}])`,
    'gu',
  );
  return (text) => text.replaceAll(words, MARK);
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** From where to where in a text. */
type Span = readonly [start: number, end: number];

function replace(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let clean = '';
  let at = 0;
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (start >= at) clean += text.slice(at, start) + MARK;
    at = Math.max(at, end);
  }
  return clean + text.slice(at);
}

/** Finds secrets in texts. */
interface Finder {
  find(text: string, isCut: boolean): readonly Span[];
}

/** A text in base64 that is in base64 in turn, and so on. */
const MOST_BLOCKS = 4;
/** Fewer characters at the end of a cut text may be anything. */
const SHORTEST_START = 3;

function createFinder(secrets: readonly string[]): Finder | undefined {
  if (secrets.length === 0) return undefined;
  // What escapes and blocks hold are bytes, each of which is read as one character.
  const patterns = [...new Set(secrets.flatMap((secret) => [secret, inBytes(secret)]))].map(
    (secret) => fold(withoutGaps(secret)),
  );
  const firsts = new Set(patterns.map((pattern) => pattern.charCodeAt(0)));
  /** Spares most places of a text any search. */
  const mayBegin = new Uint8Array(128);
  for (let code = 0; code < 128; code += 1) {
    const isEscape = /[\\%&]/.test(String.fromCharCode(code));
    if (isEscape || firsts.has(foldCode(code))) mayBegin[code] = 1;
  }
  const shortest = Math.min(...patterns.map(({ length }) => length));
  const blocks = blocksFor(shortest, secrets.every(isAscii));
  const cutBlocks = blocksFor(SHORTEST_START, secrets.every(isAscii));

  function findAsRead(reader: Reader, isCut: boolean): Span[] {
    const { text } = reader;
    const searches = patterns.map((pattern) => new Search(pattern, reader, isCut));
    const spans: Span[] = [];
    for (let place = 0; place < text.length; place += 1) {
      const code = text.charCodeAt(place);
      if (code < 128 && mayBegin[code] === 0) continue;
      let end = -1;
      for (const search of searches) end = Math.max(end, search.endFrom(place));
      if (end === -1) continue;
      spans.push([place, end]);
      place = end - 1;
    }
    return spans;
  }

  function findInBlocks(text: string, depth: number, isCut: boolean): Span[] {
    const spans: Span[] = [];
    if (depth === MOST_BLOCKS) return spans;
    for (const block of isCut ? cutBlocks : blocks) {
      for (const run of runsOf(text, block)) {
        for (const [start, end] of find(run.inner, depth + 1, isCut)) {
          spans.push(run.spanOf(start, end));
        }
      }
    }
    return spans;
  }

  function find(text: string, depth: number, isCut: boolean): readonly Span[] {
    if (text.length < (isCut ? SHORTEST_START : shortest)) return [];
    const reader = new Reader(text);
    const spans = [...findAsRead(reader, isCut), ...findInBlocks(text, depth, isCut)];
    if (!ESCAPE_IN_BLOCK.test(text)) return spans;
    const decoded = reader.decodeAll();
    const ofBlocks = findInBlocks(decoded.text, depth, isCut);
    return [...spans, ...ofBlocks.map(([start, end]) => decoded.spanOf(start, end))];
  }

  return { find: (text, isCut) => find(text, 0, isCut) };
}

/** Looks for one secret in one text. */
class Search {
  readonly #pattern: string;
  readonly #reader: Reader;
  readonly #isCut: boolean;
  /** Where no way of reading gave the rest of the pattern. */
  readonly #inVain = new Set<number>();

  constructor(pattern: string, reader: Reader, isCut: boolean) {
    this.#pattern = pattern;
    this.#reader = reader;
    this.#isCut = isCut;
  }

  /** Where the secret ends that begins at a place; -1 when none does. */
  endFrom(place: number): number {
    const code = this.#reader.text.charCodeAt(place);
    if (kindOf(code) === ESCAPE) return this.#endFromEscape(place, 0);
    return foldCode(code) === this.#pattern.charCodeAt(0) ? this.#endOfRest(place + 1, 1) : -1;
  }

  /** The same when so much of the pattern has been found before the place. */
  #endOfRest(start: number, found: number): number {
    const { text } = this.#reader;
    let place = start;
    let count = found;
    while (count < this.#pattern.length) {
      if (place >= text.length) return this.#isCut && count >= SHORTEST_START ? text.length : -1;
      const code = text.charCodeAt(place);
      const kind = kindOf(code);
      if (kind === ESCAPE) return this.#endFromEscape(place, count);
      if (foldCode(code) === this.#pattern.charCodeAt(count)) count += 1;
      else if (kind !== GAP) return -1;
      place += 1;
    }
    return place;
  }

  #endFromEscape(place: number, count: number): number {
    const key = place * this.#pattern.length + count;
    if (this.#inVain.has(key)) return -1;
    for (const { symbol, end } of this.#reader.at(place)) {
      const code = symbol.charCodeAt(0);
      const isNext = foldCode(code) === this.#pattern.charCodeAt(count);
      const isSkipped = count > 0 && kindOf(code) === GAP;
      if (!isNext && !isSkipped) continue;
      const found = this.#endOfRest(end, isNext ? count + 1 : count);
      if (found !== -1) return found;
    }
    this.#inVain.add(key);
    return -1;
  }
}

const PLAIN = 0;
/** May begin an escape. */
const ESCAPE = 1;
/**
 * May stand between any two characters of a secret: white space, controls, invisible ones, and what
 * their bytes in UTF-8 are taken for.
 */
const GAP = 2;
const GAPS = /[\s\p{Cc}\p{Cf}ÂâÏï»¿]/gu;

function kindOf(code: number): number {
  return code < 128 ? (KINDS[code] ?? PLAIN) : kindOfChar(String.fromCharCode(code));
}

function kindOfChar(char: string): number {
  if (ESCAPES.has(char)) return ESCAPE;
  return char.replaceAll(GAPS, '') === '' ? GAP : PLAIN;
}

/** In lower case. */
function foldCode(code: number): number {
  if (code < 128) return code >= 65 && code <= 90 ? code + 32 : code;
  return String.fromCharCode(code).toLowerCase().charCodeAt(0);
}

function fold(text: string): string {
  return Array.from({ length: text.length }, (_, at) =>
    String.fromCharCode(foldCode(text.charCodeAt(at))),
  ).join('');
}

function withoutGaps(secret: string): string {
  return secret.replaceAll(GAPS, '');
}

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** One way to read what stands at a place. */
interface Reading {
  readonly symbol: string;
  readonly end: number;
}

/** An escape that takes more characters than this is none. */
const LONGEST_ESCAPE = 120;
const MOST_READINGS = 16;

/** Reads a text symbol by symbol, each in all ways. */
class Reader {
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
const ESCAPE_IN_BLOCK = /\\[/ux0-7\\]|%[2-7u]|&(?:#|amp|sol|plus|lowbar|percnt|bsol)/i;

function afterPercent(reader: Reader, place: number): readonly Reading[] {
  const code = reader.text.slice(place, place + 2);
  if (/^[\da-f]{2}$/i.test(code)) return byCode([{ symbol: code, end: place + 2 }], 16);
  return [...byCode(reader.words(place, HEX, [2, 2]), 16), ...unicode(reader, place)];
}

/** Escapes may be made of escapes. */
const MAY_FOLLOW_PERCENT = /[\da-f\\%&u]/iy;
/** Of the characters of ASCII. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOfChar(String.fromCharCode(code)));

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

/** A part of a text that may be the encoding of another. */
interface Run {
  readonly inner: string;
  /** Where in the text a part of `inner` is written. */
  readonly spanOf: (start: number, end: number) => Span;
}

/** A way to write bytes as characters. */
interface Block {
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
function blocksFor(shortest: number, isAscii: boolean): readonly Block[] {
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

function* runsOf(text: string, block: Block): Generator<Run, void, void> {
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
