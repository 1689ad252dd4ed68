/**
 * Cuts a column's name into words that can be compared: lower case, without diacritics, punctuation
 * and numbers. `camelCase` and `snake_case` are cut, and so are scripts: `会社URL` is two words.
 */
export function wordsOfName(name: string): readonly string[] {
  // Nearly all words that names are compared with, and there are a thousand of them.
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

/** Whether a word is of a script that puts no spaces between words. */
export function isUnspaced(word: string): boolean {
  return UNSPACED_ONLY.test(word);
}

const UNSPACED_SCRIPTS = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{Script=Hangul}\p{Script=Thai}`;
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]+`, 'gu');
const UNSPACED_ONLY = new RegExp(`^[${UNSPACED_SCRIPTS}]+$`, 'u');

/** It is written in one with its word. */
const ARABIC_ARTICLE = /(?<!\p{L})ال(?=\p{L}{3})/gu;

/** Latin, Greek and Cyrillic accents, Hebrew and Arabic vowels, the Arabic stroke that only stretches. */
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g;

/** Letters that are no other letter with a mark, but are written as one where they are missing. */
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
