import { COLUMN_WORDS, type ColumnWords } from './column-words.ts';
import { isUnspaced, wordsOfName } from './name-words.ts';

/** The meaning of a word in a column's name; `unknown` has none. */
export type Sense = keyof ColumnWords | 'unknown';

/**
 * The meanings of the words of a name, in order. The longest phrase counts: `home page` is an
 * address on the web, although neither word is.
 */
export function sensesOf(words: readonly string[]): readonly Sense[] {
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
