import {
  CP_850,
  type Encoding,
  LATIN_1,
  MAC_ROMAN,
  WINDOWS_1250,
  WINDOWS_1252,
} from './encodings.ts';
import { decodeStart } from './transcode.ts';

const WEST = new Set('äöüßÄÖÜéèêëÉàâáÁçÇîïíìôóòúùûñãõåøØæÅœŒý’');
const EAST = new Set('ąćęłńóśźżŁŚŻčďěňřšťůžČŘŠŽýáíéúőűÁÉŐöüÖÜäôß');

/** An encoding that may be right instead of Windows-1252. */
interface Candidate {
  readonly encoding: Encoding;
  /** Letters that are frequent in names written in it. */
  readonly letters: ReadonlySet<string>;
  /**
   * How much more sense it has to make, out of 1. Eastern names look Western except for few
   * letters.
   */
  readonly margin: number;
}

const CANDIDATES: readonly Candidate[] = [
  { encoding: WINDOWS_1250, letters: EAST, margin: 0.1 },
  { encoding: MAC_ROMAN, letters: WEST, margin: 0.25 },
  { encoding: CP_850, letters: WEST, margin: 0.25 },
];
/** The least sense that an encoding has to make where Windows-1252 is impossible. */
const MIN_SENSE = 0.6;

/**
 * Guesses the encoding of words in Latin script from the letters that their bytes would be. A wrong
 * encoding gives signs within words, capitals behind small letters, and letters that hardly any
 * name has.
 *
 * @param words one per line
 */
export async function guessLatin(words: Buffer): Promise<Encoding | undefined> {
  const usual = senseOf(decodeStart(words, WINDOWS_1252), WEST);
  const [best] = CANDIDATES.map(({ encoding, letters, margin }) => ({
    encoding,
    margin,
    sense: senseOf(decodeStart(words, encoding), letters),
  })).sort((a, b) => b.sense - a.sense);
  if (best && best.sense > Math.max(usual + best.margin, MIN_SENSE)) return best.encoding;
  if (best?.encoding === WINDOWS_1250 && best.sense >= usual && (await isEastern(words))) {
    return WINDOWS_1250;
  }
  if (usual === IMPOSSIBLE) return undefined;
  // Both are read alike; people call it by this name.
  return words.some((byte) => byte >= 0x80 && byte < 0xa0) ? WINDOWS_1252 : LATIN_1;
}

/**
 * Whether all words look as in Western languages: plain letters, with the usual special letters
 * among them.
 */
export function isPlainlyWestern(words: readonly Buffer[]): boolean {
  return words.every((word) => {
    const text = decodeStart(word, WINDOWS_1252);
    return /[a-z]/i.test(text) && senseOf(text, WEST) === 1;
  });
}

const IMPOSSIBLE = -1;

/** How much sense words make, from 0 to 1; -1 if some bytes stand for no character. */
function senseOf(words: string, common: ReadonlySet<string>): number {
  if (words.includes('\ufffd')) return IMPOSSIBLE;
  let high = 0;
  let sense = 0;
  for (let at = 0; at < words.length; at += 1) {
    const character = words.charAt(at);
    if (character < '\x80') continue;
    high += 1;
    sense += senseOfCharacter(character, common, {
      before: words.charAt(at - 1),
      after: words.charAt(at + 1),
    });
  }
  return high === 0 ? 0 : sense / high;
}

function senseOfCharacter(
  character: string,
  common: ReadonlySet<string>,
  { before, after }: { readonly before: string; readonly after: string },
): number {
  const touches = isLetter(before) || isLetter(after);
  if (SIGNS_AT_WORDS.has(character) || (!isLetter(character) && !touches)) return 1;
  if (!isLetter(character)) return 0;
  const isUpper = character !== character.toLowerCase();
  if (isUpper && isLetter(before) && (isSmall(before) || isSmall(after))) return 0;
  return common.has(character) ? 1 : 0.5;
}

const SIGNS_AT_WORDS: ReadonlySet<string> = new Set('’‘´®™©ªº°');

function isLetter(character: string): boolean {
  return /\p{L}/u.test(character);
}

function isSmall(character: string): boolean {
  return /\p{Ll}/u.test(character);
}

/**
 * Decides by how often letters follow each other in languages; called only if both encodings would
 * do.
 */
async function isEastern(words: Buffer): Promise<boolean> {
  const { analyse } = await import('chardet');
  const found = analyse(words);
  const trust = (names: RegExp): number =>
    Math.max(0, ...found.filter(({ name }) => names.test(name)).map((match) => match.confidence));
  return trust(/^(windows-1250|ISO-8859-2)$/) > trust(/^(windows-1252|ISO-8859-1)$/) + 10;
}
