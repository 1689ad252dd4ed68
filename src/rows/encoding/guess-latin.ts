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

/** An encoding that may be meant instead of Windows-1252. */
interface Candidate {
  readonly encoding: Encoding;
  /** Letters that names written in it are full of. */
  readonly letters: ReadonlySet<string>;
  /** How much more sense it has to make, of 1. Eastern names look Western but for few letters. */
  readonly margin: number;
}

const CANDIDATES: readonly Candidate[] = [
  { encoding: WINDOWS_1250, letters: EAST, margin: 0.1 },
  { encoding: MAC_ROMAN, letters: WEST, margin: 0.25 },
  { encoding: CP_850, letters: WEST, margin: 0.25 },
];
/** What has to be left of it where Windows-1252 cannot be. */
const MIN_SENSE = 0.6;

/**
 * Guesses the encoding of words in Latin script by what their letters would be: in a wrong one there
 * are signs within words, capitals behind small letters, and letters that hardly any name has.
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
  // Both are read alike; this is what people call it.
  return words.some((byte) => byte >= 0x80 && byte < 0xa0) ? WINDOWS_1252 : LATIN_1;
}

/** Whether all words are as they are in Western languages: plain letters, and usual ones among them. */
export function isPlainlyWestern(words: readonly Buffer[]): boolean {
  return words.every((word) => {
    const text = decodeStart(word, WINDOWS_1252);
    return /[a-z]/i.test(text) && senseOf(text, WEST) === 1;
  });
}

const IMPOSSIBLE = -1;

/** How much sense words make, from 0 to 1; -1 when there are bytes that stand for nothing. */
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

/** By how often letters follow each other in languages; asked only where both would do. */
async function isEastern(words: Buffer): Promise<boolean> {
  const { analyse } = await import('chardet');
  const found = analyse(words);
  const trust = (names: RegExp): number =>
    Math.max(0, ...found.filter(({ name }) => names.test(name)).map((match) => match.confidence));
  return trust(/^(windows-1250|ISO-8859-2)$/) > trust(/^(windows-1252|ISO-8859-1)$/) + 10;
}
