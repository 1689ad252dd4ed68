import { createFinder, escapeRegExp, type Find, type Span, withoutGaps } from './secret-finder.ts';

/** Secrets that must not appear in any text. */
export interface Secrets {
  /** Registers a secret. */
  keep(secret: string | undefined): void;
  /** A text without any of the secrets, in any form. */
  without(text: string): string;
  /** Whether a text is one of the secrets. */
  has(text: string): boolean;
  /** Forgets all. */
  clear(): void;
}

/**
 * @param most the most secrets that are known at a time. Past this many, the one that was registered
 *   longest ago is dropped: a service that renews its credential each hour would search every text
 *   for all that it ever had.
 */
export function createSecrets(most: number): Secrets {
  /** By secret, so that each is replaced once. The latest is the last. */
  const redactors = new Map<string, Redactor>();
  return {
    keep: (secret) => {
      if (!secret) return;
      const redact = redactors.get(secret) ?? createRedactor([secret]);
      redactors.delete(secret);
      redactors.set(secret, redact);
      const [oldest = ''] = redactors.keys();
      if (redactors.size > most) redactors.delete(oldest);
    },
    without: (text) => {
      let clean = text;
      for (const redactor of redactors.values()) clean = redactor.text(clean);
      return clean;
    },
    has: (text) => redactors.has(text),
    clear: () => redactors.clear(),
  };
}

/** The secrets of this process. */
export const SECRETS: Secrets = createSecrets(1_000);

/** Registers a secret of this process. All texts it outputs from now on are without it. */
export function keepSecret(secret: string | undefined): void {
  SECRETS.keep(secret);
}

/** A text without any secret that was given to this process, in any form. */
export function withoutSecrets(text: string): string {
  return SECRETS.without(text);
}

/** JSON of a value with secrets removed from its texts. Numbers and keys stay the same. */
export function toCleanJson(value: unknown): string {
  return toRedactedJson(value, withoutSecrets);
}

/** Variables that hold a credential of this process, in whichever job file they are named. */
const CREDENTIAL_NAMES = new Set([
  'BRANDFILL_API_KEY',
  'BRANDFILL_QUEUE',
  'BRANDFILL_DASHBOARD_TOKEN',
]);

/** Registers the name of a variable that holds a credential. */
export function keepCredentialName(name: string): void {
  CREDENTIAL_NAMES.add(name);
}

/** A shorter value may be a credential by chance, such as that of `NODE_ENV=test`. */
const SHORTEST_VALUE = 8;
const URL_START = /^[\w.+-]+:\/\//;

/**
 * What a command inherits that is none of ours: all variables but those that are named for a
 * credential, whose value is one, or whose value is a URL with one.
 */
export function withoutCredentials(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const isCredential = (value: string): boolean =>
    (value.length >= SHORTEST_VALUE && SECRETS.has(value)) ||
    (URL_START.test(value) && withoutSecrets(value) !== value);
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value = '']) => !CREDENTIAL_NAMES.has(name) && !isCredential(value.trim()),
    ),
  );
}

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
function toRedactedJson(value: unknown, redact: (text: string) => string): string {
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
  const texts = [secret, part].filter((text) => text !== '');
  return [...texts, ...texts.flatMap(asNumber)];
}

/** A secret of nothing but digits, as programs write numbers that are large. */
function asNumber(secret: string): readonly string[] {
  const isExact = /^[1-9]\d*$/.test(secret) && Number.isSafeInteger(Number(secret));
  return isExact && !isShort(secret) ? [Number(secret).toExponential().replace('+', '')] : [];
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
