import { blocksFor, runsOf, type Span } from './blocks.ts';
import { ESCAPE, ESCAPE_IN_BLOCK, GAP, kindOf, Reader, withoutGaps } from './escapes.ts';

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
    if (isCrowded(text)) {
      const decoded = decodedRoughly(text);
      const isIn = patterns.some((pattern) => decoded.includes(pattern));
      return isIn ? [[0, text.length]] : findInBlocks(text, depth, isCut);
    }
    const reader = new Reader(text);
    const spans = [...findAsRead(reader, isCut), ...findInBlocks(text, depth, isCut)];
    if (!ESCAPE_IN_BLOCK.test(text)) return spans;
    const decoded = reader.decodeAll();
    const ofBlocks = findInBlocks(decoded.text, depth, isCut);
    return [...spans, ...ofBlocks.map(([start, end]) => decoded.spanOf(start, end))];
  }

  return { find: (text, isCut) => find(text, 0, isCut) };
}

/** To read each escape of a text in all ways takes some 30 us, and a hostile server may send millions. */
const MOST_ESCAPES = 4_000;

function isCrowded(text: string): boolean {
  let escapes = 0;
  for (let at = 0; at < text.length && escapes <= MOST_ESCAPES; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 37 || code === 38 || code === 92) escapes += 1;
  }
  return escapes > MOST_ESCAPES;
}

/** A text of so many escapes is decoded as a whole, and goes as a whole where a secret is in it. */
function decodedRoughly(text: string): string {
  let decoded = text;
  for (let round = 0; round < 3; round += 1) decoded = decoded.replaceAll(USUAL_ESCAPE, meaningOf);
  return fold(withoutGaps(decoded));
}

const USUAL_ESCAPE =
  /\\u([\da-f]{4})|\\x([\da-f]{2})|%([\da-f]{2})|&#x([\da-f]{1,4});|&#(\d{1,5});|\\([^ux\d])/gi;

function meaningOf(
  _: string,
  ...[json = '', short = '', url = '', hex = '', decimal = '', char = '']: string[]
): string {
  if (char !== '') return /[nrtbfv]/.test(char) ? '\n' : char;
  if (decimal !== '') return String.fromCharCode(Number(decimal));
  return String.fromCharCode(Number.parseInt(json || short || url || hex, 16));
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

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
