import { COLUMN_WORDS, type ColumnWords } from './column-words.ts';

/**
 * The kind of content that a column's name promises: a domain, an address on the web, an e-mail
 * address.
 */
export type NameKind = 'domain' | 'web' | 'email';

/**
 * How sure the name is of that kind:
 * - `plain`: it says nothing else (`Company domain name`).
 * - `qualified`: it has another word that means nothing here (`upstream website`).
 * - `foreign`: it has a word that speaks against the kind (`linkedin url`, `email_opt_in`,
 *   `brand_domain`).
 */
export type NameFit = 'plain' | 'qualified' | 'foreign';

export interface NameMeaning {
  readonly kind: NameKind | undefined;
  readonly fit: NameFit;
}

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;

/**
 * Reads a column's name word by word, in the languages of `column-words.ts`, without regard to
 * case, diacritics, punctuation, `camelCase` or `snake_case`.
 */
export function meaningOfName(name: string): NameMeaning {
  const senses = sensesOf(wordsOfName(name.slice(0, MAX_NAME_LENGTH)));
  return { kind: kindOf(senses), fit: fitOf(senses) };
}

function kindOf(senses: readonly Sense[]): NameKind | undefined {
  // An `email domain` belongs to the provider that carries the mail.
  if (senses.includes('email') && !senses.includes('web')) return 'email';
  return KINDS.find((kind) => senses.includes(kind));
}

const KINDS: readonly NameKind[] = ['domain', 'web', 'email'];

function fitOf(senses: readonly Sense[]): NameFit {
  if (senses.includes('foreign')) return 'foreign';
  return senses.includes('unknown') ? 'qualified' : 'plain';
}

/** The meaning of a word in a column's name; `unknown` has none. */
type Sense = keyof ColumnWords | 'unknown';

/**
 * The meanings of the words of a name, in order. The longest phrase counts: `home page` is an
 * address on the web, although neither word is.
 */
function sensesOf(words: readonly string[]): readonly Sense[] {
  const lexicon = openLexicon();
  const senses: Sense[] = [];
  for (let at = 0; at < words.length; ) {
    const { sense, length } = longestPhrase(words, at, lexicon);
    if (sense === undefined) senses.push(...sensesWithin(words[at] ?? '', lexicon));
    else senses.push(sense);
    at += length;
  }
  return senses;
}

interface Lexicon {
  /** By word, or by words separated by spaces. */
  readonly phrases: ReadonlyMap<string, Sense>;
  /** Number of words in the longest phrase. */
  readonly mostWords: number;
  /** Number of characters in the longest phrase. */
  readonly mostLetters: number;
}

let opened: Lexicon | undefined;

/** If a word has two meanings, the first of these counts. */
const ORDER = ['domain', 'web', 'email', 'neutral', 'foreign'] as const;

function openLexicon(): Lexicon {
  opened ??= createLexicon();
  return opened;
}

function createLexicon(): Lexicon {
  const phrases = new Map<string, Sense>();
  let mostWords = 1;
  let mostLetters = 1;
  for (const sense of ORDER) {
    for (const language of Object.values(COLUMN_WORDS)) {
      for (const phrase of language[sense].split(',')) {
        const words = wordsOfName(phrase.trim());
        const text = words.join(' ');
        if (text === '' || phrases.has(text)) continue;
        phrases.set(text, sense);
        mostWords = Math.max(mostWords, words.length);
        mostLetters = Math.max(mostLetters, text.length);
      }
    }
  }
  return { phrases, mostWords, mostLetters };
}

function longestPhrase(
  words: readonly string[],
  at: number,
  { phrases, mostWords }: Lexicon,
): { readonly sense: Sense | undefined; readonly length: number } {
  for (let length = Math.min(mostWords, words.length - at); length > 0; length -= 1) {
    const sense = phrases.get(words.slice(at, at + length).join(' '));
    if (sense !== undefined) return { sense, length };
  }
  return { sense: undefined, length: 1 };
}

/** The meanings of the parts of a word: `Firmenwebsite`, `emailaddress`, `公司网址`. */
function sensesWithin(word: string, lexicon: Lexicon): readonly Sense[] {
  return isUnspaced(word) ? sensesOfRun(word, lexicon) : sensesOfCompound(word, lexicon);
}

/** Takes the longest known word again and again; anything left between is unknown. */
function sensesOfRun(run: string, { phrases, mostLetters }: Lexicon): readonly Sense[] {
  const senses: Sense[] = [];
  for (let at = 0; at < run.length; ) {
    let length = Math.min(mostLetters, run.length - at);
    while (length > 1 && !phrases.has(run.slice(at, at + length))) length -= 1;
    senses.push(phrases.get(run.slice(at, at + length)) ?? 'unknown');
    at += length;
  }
  return senses;
}

/** Shorter parts occur in all kinds of words. */
const SHORTEST_PART = 3;

/**
 * Splits a compound. Its parts have to make up the whole word; an `s` may join them, as in German.
 */
function sensesOfCompound(word: string, { phrases }: Lexicon): readonly Sense[] {
  /** The meanings of the first letters, by their number. */
  const known: (readonly Sense[] | undefined)[] = [[]];
  for (let end = SHORTEST_PART; end <= word.length; end += 1) {
    for (let start = 0; start <= end - SHORTEST_PART; start += 1) {
      const before = known[start];
      const sense = before && phrases.get(word.slice(start, end));
      if (before === undefined || sense === undefined) continue;
      known[end] = [...before, sense];
      if (word.charAt(end) === 's') known[end + 1] ??= known[end];
      break;
    }
  }
  return known[word.length] ?? ['unknown'];
}

/**
 * Splits a column's name into words that can be compared: lower case, without diacritics,
 * punctuation and numbers. It splits `camelCase` and `snake_case`, and also between scripts:
 * `会社URL` is two words.
 */
function wordsOfName(name: string): readonly string[] {
  // A fast path for plain words: names are compared with a thousand words, and nearly all are
  // plain.
  if (/^[a-z]+(?: [a-z]+)*$/.test(name)) return wordsIn(name);
  const spaced = name
    .normalize('NFKC')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, '$1 $2')
    .replace(ARABIC_ARTICLE, '');
  return wordsIn(
    withoutDiacritics(spaced)
      .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
      .replace(UNSPACED, ' $& ')
      .replace(/(\p{L})\p{N}+/gu, '$1'),
  ).filter((word) => word !== '' && !/^\p{N}+$/u.test(word));
}

function wordsIn(text: string): readonly string[] {
  return text
    .replace(/(?<=^| )e (?=(?:mail|post|mejl))/g, 'e')
    .replace(/(?<=^| )opt (?:in|out)(?= |$)/g, 'opt')
    .split(' ');
}

/** Whether a word is in a script without spaces between words. */
function isUnspaced(word: string): boolean {
  return UNSPACED_ONLY.test(word);
}

const UNSPACED_SCRIPTS = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{Script=Hangul}\p{Script=Thai}`;
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]+`, 'gu');
const UNSPACED_ONLY = new RegExp(`^[${UNSPACED_SCRIPTS}]+$`, 'u');

/** The article is written together with its word. */
const ARABIC_ARTICLE = /(?<!\p{L})ال(?=\p{L}{3})/gu;

/**
 * Latin, Greek and Cyrillic accents, Hebrew and Arabic vowels, and the Arabic stroke that only
 * stretches.
 */
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g;

/**
 * Letters that are not a letter with a mark, but are written as another letter where they are
 * unavailable.
 */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
};

function withoutDiacritics(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(MARKS, '')
    .replace(/[ßæœøłđðþıς]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}
