/** Secrets that must not appear in any text. */
export interface Secrets {
  /** Registers a secret. */
  keep(secret: string | undefined): void;
  /** A text without any of the secrets. */
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
  /** By secret. The latest is the last. */
  const redactors = new Map<string, Redactor>();
  return {
    keep: (secret) => {
      if (!secret) return;
      const redactor = redactors.get(secret) ?? createRedactor([secret]);
      redactors.delete(secret);
      redactors.set(secret, redactor);
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

/** A text without any secret that was given to this process. */
export function withoutSecrets(text: string): string {
  return SECRETS.without(text);
}

/** JSON of a value with secrets removed from its texts. Numbers and keys stay the same. */
export function toCleanJson(value: unknown): string {
  return toRedactedJson(value, withoutSecrets);
}

/** Our own variables that hold a credential, of whichever command. */
const OUR_CREDENTIALS = /^BRANDFILL_(?:QUEUE|(?:\w+_)?(?:API_KEY|TOKEN))$/;
/** Others that do, in whichever job file they are named. */
const CREDENTIAL_NAMES = new Set<string>();

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
      ([name, value = '']) =>
        !OUR_CREDENTIALS.test(name) && !CREDENTIAL_NAMES.has(name) && !isCredential(value.trim()),
    ),
  );
}

/** Takes secrets out of texts that others wrote, such as answers of an API. */
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
/** Fewer characters at the end of a cut text may be anything. */
const SHORTEST_START = 4;
/** An expression of thousands of parts in each other cannot be compiled. */
const LONGEST_AT_END = 300;
const MARK = '[redacted]';
const NOTHING = /(?!)/;

/**
 * Builds one expression from all forms in which a server sends back what it was sent: as it is, in
 * base64 and base64url, alone or as `user:password`, and each of these with its signs escaped as in
 * URLs, JSON or HTML. So a text is looked at once, whatever the number of forms.
 *
 * @param secrets each as it is, or as `user:password`
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const parts = [...new Set(secrets.flatMap(partsOf))];
  const long = formsOf(parts.filter((part) => !isShort(part)));
  const short = formsOf(parts.filter(isShort));
  const anywhere = anyOf(long.map((form) => charsOf(form).join('')));
  const asWord = short.length === 0 ? NOTHING : wordOf(short);
  const atEnd = anyOf(long.map(startAtEnd));

  function text(given: string, isCut = false): string {
    const clean = given.replace(anywhere, MARK).replace(asWord, MARK);
    return isCut ? clean.replace(atEnd, MARK) : clean;
  }

  function json(given: string): string {
    const clean = given.replace(anywhere, MARK);
    if (clean === given || isJson(clean)) return clean;
    return isJson(given)
      ? given.replace(STRING_OR_NUMBER, (token) =>
          token.startsWith('"') || token.replace(anywhere, MARK) === token
            ? token.replace(anywhere, MARK)
            : JSON.stringify(MARK),
        )
      : clean;
  }

  return { text, json };
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
  return Array.from(secret.replaceAll(/\s/g, '')).length < SHORTEST;
}

/** A secret, and the part of `user:password` that is secret. */
function partsOf(secret: string): readonly string[] {
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  return [secret, password.length < SHORTEST_PART ? user : password].filter((part) => part !== '');
}

/** Longest first, so that none hides the rest of another. */
function formsOf(parts: readonly string[]): readonly string[] {
  const forms = parts.flatMap((part) => {
    const blocks = [base64(part), base64(basicPair(part))].map((block) => block.replace(/=+$/, ''));
    const ofUrls = blocks.map((block) => block.replaceAll('+', '-').replaceAll('/', '_'));
    return [part, ...blocks, ...ofUrls];
  });
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

function anyOf(patterns: readonly string[]): RegExp {
  return patterns.length === 0 ? NOTHING : new RegExp(patterns.join('|'), 'giu');
}

function wordOf(forms: readonly string[]): RegExp {
  const any = forms.map((form) => charsOf(form).join('')).join('|');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, 'giu');
}

/** The beginning of a form where a text ends, perhaps within an escape. */
function startAtEnd(form: string): string {
  const chars = charsOf(form.slice(0, LONGEST_AT_END));
  const start = chars.slice(0, SHORTEST_START).join('');
  const rest = chars.slice(SHORTEST_START).reduceRight((end, char) => `(?:${char}${end})?`, '');
  return String.raw`${start}${rest}(?:[\\%&][\w#]{0,8})?$`;
}

/** An expression for each character of a form: letters and digits are never escaped. */
function charsOf(form: string): readonly string[] {
  return Array.from(form, (char) => (/[a-z\d]/i.test(char) ? char : signOf(char)));
}

/** HTML's names for the signs that it escapes. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/** A sign as it is, or with the escapes of JSON, URLs and HTML. */
function signOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const inJson = Array.from(
    { length: char.length },
    (_, at) => String.raw`\\u${hex(char.charCodeAt(at), 4)}`,
  ).join('');
  const inUrl = [...Buffer.from(char)].map((byte) => `%${hex(byte, 2)}`).join('');
  const name = ENTITIES[char];
  const inHtml = `&(?:#${code}|#[xX]0*${hex(code, 0)}${name === undefined ? '' : `|${name}`});`;
  const plain = char.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
  const escaped = char === '\\' ? String.raw`\\\\` : String.raw`\\?${plain}`;
  return `(?:${escaped}|${inJson}|${inUrl}|${inHtml}${char === ' ' ? String.raw`|\+` : ''})`;
}

/** A number in hexadecimal digits of either case. */
function hex(code: number, digits: number): string {
  return code
    .toString(16)
    .padStart(digits, '0')
    .replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}
