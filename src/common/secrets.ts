// The secrets of this process, and what takes secrets out of texts. All texts that leave the
// process, to a terminal, a file, a log, Redis or a page, go through here.

/** By secret. The latest is the last. */
const KEPT = new Map<string, Redactor>();
/**
 * A service that renews its credential each hour would search every text for all that it ever had.
 */
const MOST_KEPT = 100;

/** Registers a secret of this process. All texts it outputs from now on are without it. */
export function keepSecret(secret: string | undefined): void {
  if (!secret) return;
  const redactor = KEPT.get(secret) ?? createRedactor([secret]);
  KEPT.delete(secret);
  KEPT.set(secret, redactor);
  const [oldest = ''] = KEPT.keys();
  if (KEPT.size > MOST_KEPT) KEPT.delete(oldest);
}

/** Forgets all secrets of this process. */
export function forgetSecrets(): void {
  KEPT.clear();
}

/** A text without any secret that was given to this process. */
export function withoutSecrets(text: string): string {
  let clean = text;
  for (const redactor of KEPT.values()) clean = redactor.text(clean);
  return clean;
}

/** JSON of a value with secrets removed from its texts and names. Numbers stay the same. */
export function toCleanJson(value: unknown, redact = withoutSecrets): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string') return redact(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, of]) => [redact(name), of]));
  });
}

/** A copy of data without secrets; parts that JSON cannot hold, such as `undefined`, are lost. */
export function redactDeep<T extends object>(value: T, redact: (text: string) => string): T {
  return JSON.parse(toCleanJson(value, redact)) as T;
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

/**
 * What a command inherits that is none of ours: all variables but those that are named for a
 * credential, or whose value has one in it. Short ones occur in any value, and count in URLs alone.
 */
export function withoutCredentials(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const isCredential = (value: string): boolean =>
    value.length >= SHORTEST_VALUE &&
    (KEPT.has(value) ||
      [...KEPT.values()].some((kept) => kept.json(value) !== value) ||
      (/^[\w.+-]+:\/\//.test(value) && withoutSecrets(value) !== value));
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value = '']) =>
        !OUR_CREDENTIALS.test(name) && !CREDENTIAL_NAMES.has(name) && !isCredential(value.trim()),
    ),
  );
}

/** Takes secrets out of texts that others wrote, such as answers of an API. */
export type Redactor = ReturnType<typeof createRedactor>;

/**
 * A shorter secret occurs in many words, by chance. It is replaced only where it stands as a word
 * of its own, and not in answers, which it would destroy.
 */
const SHORTEST = 6;
/** A shorter part of a secret is none. Some APIs want a key as `key:x`. */
const SHORTEST_PART = 4;
/** A character of a secret that is escaped twice. */
const LONGEST_SIGN = 12;
const MARK = '[redacted]';

/**
 * Builds one expression from all forms in which a server sends back what it was sent: as it is, in
 * base64 and base64url, alone or within more, such as a whole header, and each of these with its
 * signs escaped as in URLs, JSON or HTML. So a text is looked at once, whatever the number of
 * forms. A text with escaped letters and digits, which nobody needs to escape, is looked at again
 * with these as they are.
 *
 * @param secrets each as it is, or as `user:password`
 */
export function createRedactor(secrets: readonly string[]) {
  const parts = [...new Set(secrets.flatMap(partsOf))];
  const longParts = parts.filter((part) => !isShort(part));
  const long = longestFirst([...formsOf(longParts), ...longParts.flatMap(formsWithin)]);
  const short = formsOf(parts.filter(isShort));
  const anywhere = anyOf(long.map(patternOf));
  const asWord = anyOf(
    short.map((form) => String.raw`(?<![\p{L}\p{N}])${patternOf(form)}(?![\p{L}\p{N}])`),
  );
  const mostOfSecret = Math.max(0, ...long.map(({ length }) => length * LONGEST_SIGN));
  return {
    /**
     * The text with all secrets replaced.
     *
     * @param isCut whether the text goes on where it ends: its last part is left out, as it may be
     *   a part of a secret
     */
    text: (given: string, isCut = false): string => {
      const clean = mark(given, [...anywhere, ...asWord]);
      return isCut ? clean.slice(0, Math.max(0, clean.length - mostOfSecret)) : clean;
    },
    /**
     * The same for an answer in JSON, which stays JSON: a number that is a secret becomes a text.
     * Secrets that are short are left where they are, see `SHORTEST`.
     */
    json: (given: string): string => {
      const clean = mark(given, anywhere);
      if (clean === given || isJson(clean) || !isJson(given)) return clean;
      return given.replace(STRING_OR_NUMBER, (token) => {
        const without = mark(token, anywhere);
        return without === token || token.startsWith('"') ? without : JSON.stringify(MARK);
      });
    },
  };
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

/** `user:password`, as for basic authentication. A secret without a colon is the user. */
export function basicPair(secret: string): string {
  return secret.includes(':') ? secret : `${secret}:`;
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

function formsOf(parts: readonly string[]): readonly string[] {
  const forms = parts.flatMap((part) => {
    const whole = [part, basicPair(part)].map((text) => Buffer.from(text).toString('base64url'));
    return [part, ...whole, ...whole.map(asBase64)];
  });
  return longestFirst(forms);
}

/**
 * What base64 has of a part within a longer text, such as `Bearer KEY`, wherever it begins there:
 * all characters that tell nothing else. The header of basic authentication has base64 in it
 * already.
 */
function formsWithin(part: string): readonly string[] {
  const whole = [part, Buffer.from(basicPair(part)).toString('base64')];
  const forms = [0, 1, 2].flatMap((before) =>
    whole.map((text) => {
      const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
      const sure = Math.floor((bytes.length * 4) / 3);
      return bytes.toString('base64url').slice(Math.ceil((before * 4) / 3), sure);
    }),
  );
  return [...forms, ...forms.map(asBase64)];
}

function asBase64(url: string): string {
  return url.replaceAll('-', '+').replaceAll('_', '/');
}

/** So that none hides the rest of another. */
function longestFirst(forms: readonly string[]): readonly string[] {
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** None without patterns: one that never fits would be looked for in every text. */
function anyOf(patterns: readonly string[]): readonly RegExp[] {
  return patterns.length === 0 ? [] : [new RegExp(patterns.join('|'), 'giu')];
}

function mark(text: string, expressions: readonly RegExp[]): string {
  if (expressions.length === 0) return text;
  const markPlain = (plain: string): string =>
    expressions.reduce((marked, expression) => marked.replace(expression, MARK), plain);
  const clean = markPlain(text);
  const unescaped = clean.replace(ESCAPED, (_, hex?: string, inHtml?: string, decimal?: string) =>
    String.fromCharCode(Number(decimal ?? `0x${hex ?? inHtml}`)),
  );
  const cleaner = unescaped === clean ? clean : markPlain(unescaped);
  return cleaner === unescaped ? clean : cleaner;
}

const HEX = String.raw`(3\d|[46][1-9a-f]|[57][\da])`;
const DECIMAL = String.raw`(4[89]|5[0-7]|6[5-9]|[78]\d|9[07-9]|1[01]\d|12[0-2])`;
/** A letter or digit as JSON, URLs and HTML may escape any character, also within each other. */
const ESCAPED = new RegExp(
  String.raw`(?:(?<!\\)\\+u00|%(?:25)*)${HEX}|&(?:amp;)*#(?:x0*${HEX}|0*${DECIMAL});`,
  'gi',
);

/** HTML's names for the signs that it escapes. */
const NAMES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/**
 * An expression for a form: letters and digits are never escaped, signs as in URLs, JSON and HTML,
 * also within each other twice, as a log in JSON that quotes JSON has them.
 */
function patternOf(form: string): string {
  const signs = Array.from(form, (char) => {
    if (/[a-z\d]/i.test(char)) return char;
    const hex = (code: number, digits = 0): string => code.toString(16).padStart(digits, '0');
    const code = char.codePointAt(0) ?? 0;
    const units = char.split('').map((unit) => String.raw`\\{1,7}u${hex(unit.charCodeAt(0), 4)}`);
    const bytes = [...Buffer.from(char)].map((byte) => `%(?:25){0,2}${hex(byte, 2)}`);
    const inHtml = `&(?:amp;){0,2}(?:#${code}|#x0*${hex(code)}|${NAMES[char] ?? '(?!)'});`;
    const plain = char.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
    const escaped = char === '\\' ? String.raw`\\{1,8}` : String.raw`\\{0,7}${plain}`;
    const all = [
      escaped,
      units.join(''),
      bytes.join(''),
      inHtml,
      char === ' ' ? String.raw`\+` : '(?!)',
    ];
    return `(?:${all.join('|')})`;
  });
  return signs.join('');
}
