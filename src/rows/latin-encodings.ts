import ALPHABETS from './alphabets.json' with { type: 'json' };

/** What Western spreadsheets save. */
export const WINDOWS_1252 = 'Windows-1252';
/** Windows-1252 is so much more frequent that another one has to fit better by so much. */
const FITS_BETTER = 0.15;
/** What stands at the same places in all of them, and says nothing of a language. */
const OF_ALL = String.raw`\p{ASCII}\p{P}\p{Z}€©®™°`;

/**
 * Which encodings of Latin letters a list may be in, the likeliest first. `alphabets.json` has the
 * letters of the languages that are written in each, and the ends of domains in countries where
 * spreadsheets save it. An encoding is likelier than Windows-1252 if most lines have such a domain;
 * else if of the words that it reads otherwise more are of its languages, and of one of them.
 *
 * @param bytes its lines beyond ASCII @param words the words beyond ASCII in them, a character for
 *   each byte
 * @param decode reads such a word
 */
export function latinEncodings(
  bytes: Buffer,
  words: ReadonlySet<string>,
  decode: (word: string, encoding: string) => string,
): readonly string[] {
  const lines = bytes.toString('latin1').split('\n');
  const ofCountry = ALPHABETS.filter(({ countries }) => {
    const ends = new RegExp(`\\.(?:${countries.join('|')})\\b`, 'i');
    return (
      countries.length > 0 && lines.filter((line) => ends.test(line)).length * 2 > lines.length
    );
  });
  const [western, ...others] = ALPHABETS.map(({ encoding, languages }) => {
    const texts = Array.from(words, (word) => decode(word, encoding));
    return { encoding, languages, texts };
  });
  const better = others
    .map(({ encoding, languages, texts }) => {
      const differing = texts.filter((text, at) => text !== western?.texts[at]);
      const instead = western?.texts.filter((text, at) => text !== texts[at]) ?? [];
      const fit = fitOf(differing, languages) - fitOf(instead, western?.languages ?? []);
      return { encoding, fit, gain: fit * differing.length };
    })
    .filter(({ fit }) => fit > FITS_BETTER)
    .sort((one, other) => other.gain - one.gain);
  return [...ofCountry, ...better].map(({ encoding }) => encoding).concat(WINDOWS_1252);
}

/**
 * The share of words that are of any of some languages, and of the one that has the most, on
 * average.
 */
function fitOf(words: readonly string[], languages: readonly string[]): number {
  if (words.length === 0) return 0;
  const alphabets = languages.map((letters) => new RegExp(`^[${OF_ALL}${letters}]*$`, 'iu'));
  const counts = alphabets.map((alphabet) => words.filter((word) => alphabet.test(word)).length);
  const ofAny = words.filter((word) => alphabets.some((alphabet) => alphabet.test(word)));
  return (3 * ofAny.length + Math.max(...counts)) / (4 * words.length);
}
