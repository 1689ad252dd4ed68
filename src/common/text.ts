import { StringDecoder } from 'node:string_decoder';
import { distance } from 'fastest-levenshtein';

/** Characters that control a terminal, end a line, or change the text direction. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text from outside, made safe for a terminal: such characters are written as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same for several lines, whose ends are kept. JSON keeps its meaning. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** The same for what comes piece by piece, in UTF-8. Ends of lines and tabs are kept. */
export function createPrintable(): (piece: string | Uint8Array) => string {
  const decoder = new StringDecoder('utf8');
  return (piece) => {
    const text = typeof piece === 'string' ? piece : decoder.write(piece);
    return text
      .split(/(\r?\n|\t)/)
      .map((part, at) => (at % 2 === 0 ? printable(part) : part))
      .join('');
  };
}

/**
 * The kind of a value, for messages that must not repeat it: `a text`, `an object (Headers)`,
 * `nothing`.
 */
export function describeKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a text';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { name } = value.constructor ?? Object; // without a prototype it has none
  return name === 'Object' || name === '' ? 'an object' : `an object (${name})`;
}

/**
 * Finds the known word that was probably meant. It is few letters away (a third of them at most),
 * or one of the two is the beginning of the other. Case, dashes and underscores do not count.
 */
export function findNearest(word: string, known: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = known
    .map((candidate) => ({ candidate, away: distance(plain, simplify(candidate)) }))
    .sort((a, b) => a.away - b.away);
  const [nearest] = ranked;
  if (nearest && nearest.away <= Math.max(1, Math.floor(plain.length / 3))) {
    return nearest.candidate;
  }
  return ranked.find(({ candidate }) => isBeginning(plain, simplify(candidate)))?.candidate;
}

function isBeginning(one: string, other: string): boolean {
  return (
    Math.min(one.length, other.length) >= 3 && (one.startsWith(other) || other.startsWith(one))
  );
}

function simplify(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

const MOST_LEVELS = 1_000;

/**
 * Whether JSON is nested more than 1,000 levels deep. `JSON.parse` reads it, but nothing that goes
 * into it by recursion comes back, such as `JSON.stringify`.
 */
export function isTooDeep(json: string): boolean {
  if (json.length <= 2 * MOST_LEVELS) return false; // as each level has two brackets
  if (json.split('{').length + json.split('[').length <= MOST_LEVELS) return false;
  let level = 0;
  let isQuoted = false;
  for (let at = 0; at < json.length && level <= MOST_LEVELS; at += 1) {
    const sign = json[at];
    if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) at += Number(sign === '\\');
    else if (sign === '{' || sign === '[') level += 1;
    else if (sign === '}' || sign === ']') level -= 1;
  }
  return level > MOST_LEVELS;
}

/**
 * Makes a text from a list or an API fit for a report: without characters that control a terminal
 * or hide what is written, and no longer than `most` characters.
 */
export function shortenTo(text: string, most: number): string {
  // Cut first: a cell may have megabytes.
  const start = text.length > 4 * most ? text.slice(0, 4 * most) : text;
  const printable = start.replaceAll(UNSHOWABLE, ' ').trim();
  const characters = Array.from(printable);
  const isWhole = characters.length <= most && start.length === text.length;
  return isWhole ? printable : `${characters.slice(0, most).join('')}…`;
}

/** Control characters, marks that turn the direction of a text around, and lone surrogates. */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]+/gu;

/** Whether a text names a time zone, such as `Europe/Berlin`. */
export function isTimezone(timezone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: timezone }));
  } catch {
    return false;
  }
}

/** `2026-11-21 02:30:00`, on the clocks of a time zone. @default the machine's zone */
export function localTime(at: Date, timeZone?: string): string {
  return at.toLocaleString('sv-SE', { timeZone }); // the way of Sweden is ISO 8601
}

/** A word of a shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
