/**
 * Splits a column's name into words that can be compared: lower case, without diacritics,
 * punctuation and numbers. It splits `camelCase` and `snake_case`, and also between scripts:
 * `会社URL` is two words.
 */
export function wordsOfName(name: string): readonly string[] {
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
export function isUnspaced(word: string): boolean {
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
