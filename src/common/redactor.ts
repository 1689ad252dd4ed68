import { createFinder, escapeRegExp, type Find, type Span, withoutGaps } from './secret-finder.ts';

/**
 * Takes secrets out of texts that others wrote, such as answers of an API.
 *
 * A server may write what it was sent in many ways: as it came, in other case, with escapes (JSON,
 * URLs, HTML), in base64 or hex, broken into lines, and in one of these within another. So a text
 * is decoded first, again and again until nothing is left to decode, and looked at after each step.
 * Most texts hold nothing that a secret could be decoded from, which one look at them tells.
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
/** So many times its own length a secret may take where a text was cut. */
const LONGEST_FORM = 100;
const MARK = '[redacted]';
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** @param secrets each as it is, or as `user:password` */
export function createRedactor(secrets: readonly string[]): Redactor {
  const plain = [...new Set(secrets.flatMap(partsOf))];
  const short = createShortRedactor(plain.filter(isShort));
  const long = plain.filter((secret) => !isShort(secret));
  if (long.length === 0) return { text: short, json: (given) => given };
  const find = createFinder(long, false);
  /** Made when needed: few texts are cut. */
  let findAtEnd: Find | undefined;
  const mostAtEnd = LONGEST_FORM * Math.max(...long.map(({ length }) => length));

  function text(given: string, isCut = false): string {
    if (!isCut) return short(replace(given, find(given)));
    findAtEnd ??= createFinder(long, true);
    const from = Math.max(0, given.length - mostAtEnd);
    const atEnd = findAtEnd(given.slice(from)).map(
      ([start, end]): Span => [from + start, from + end],
    );
    const spans = [...find(given), ...atEnd].sort(([a], [b]) => a - b);
    return short(replace(given, spans));
  }

  function cleanToken(token: string): string {
    const said = JSON.parse(token) as unknown;
    const clean = typeof said === 'string' ? replace(said, find(said)) : said;
    const written = clean === said ? token : JSON.stringify(clean);
    // An escape before a secret hides it from who reads the JSON, but not from who reads the text.
    return find(written).length > 0 ? JSON.stringify(MARK) : written;
  }

  function json(given: string): string {
    const spans = find(given);
    if (spans.length === 0) return given;
    try {
      JSON.parse(given);
    } catch {
      return short(replace(given, spans));
    }
    let next = 0;
    const clean = given.replaceAll(STRING_OR_NUMBER, (token, start: number) => {
      while ((spans[next]?.[1] ?? Infinity) <= start) next += 1;
      return (spans[next]?.[0] ?? Infinity) < start + token.length ? cleanToken(token) : token;
    });
    return find(clean).length > 0 ? text(clean) : clean; // better no JSON than a secret
  }

  return { text, json };
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

function partsOf(secret: string): readonly string[] {
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  const part = password.length < SHORTEST_PART ? user : password;
  return [secret, part].filter((text) => text !== '');
}

function createShortRedactor(secrets: readonly string[]): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  const forms = secrets
    .flatMap((one) => [one, encodeURIComponent(one), base64(one), base64(basicPair(one))])
    .sort((a, b) => b.length - a.length)
    .map(escapeRegExp);
  const words = new RegExp(`(?<![\\p{L}\\p{N}])(?:${forms.join('|')})(?![\\p{L}\\p{N}])`, 'gu');
  return (text) => text.replaceAll(words, MARK);
}

function replace(text: string, spans: readonly Span[]): string {
  let clean = '';
  let at = 0;
  for (const [start, end] of spans) {
    if (start >= at) clean += text.slice(at, start) + MARK;
    at = Math.max(at, end);
  }
  return clean + text.slice(at);
}
