import { BrandfillError } from '../../common/errors.ts';
import {
  CP_850,
  type Encoding,
  findEncodingByName,
  LATIN_1,
  MAC_ROMAN,
  refuseControls,
  WINDOWS_1250,
  WINDOWS_1252,
} from './encodings.ts';
import { decodeStart } from './transcode.ts';
import { faultOfUtf8, isMostlyUtf8, placeOfByte } from './utf8.ts';

/** An encoding, and some words that show whether the guess is right. */
export interface Guess {
  readonly encoding: Encoding;
  readonly example: string;
}

/** A part of a list with characters that are not plain ASCII. */
export interface Clue {
  readonly bytes: Buffer;
  /** The place in the list where it begins. */
  readonly offset: number;
}

interface GuessOptions {
  /** The name of the list in messages. */
  readonly name: string;
  /** Gives all bytes of the list from the start. */
  readonly read: () => AsyncIterable<Buffer>;
}

/** A larger share of control characters means a picture or a program. */
const MOST_CONTROLS = 0.005;
/**
 * If at least this share of bytes beyond ASCII has another one beside it, a character may be two
 * bytes.
 */
const PAIRED_SHARE = 0.5;
/** If at least this share does, the script is not Latin. */
const DENSE_SHARE = 0.8;
const LOOKED_AT_BYTES = 64 * 1024;

/**
 * Guesses the encoding of text that is not UTF-8. Western spreadsheets save Windows-1252, which
 * includes Latin-1; other encodings need evidence.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is no text, is in no encoding that can be
 * determined, or is UTF-8 for the most part
 */
export async function guessEncoding(
  { bytes: clue, offset }: Clue,
  { name, read }: GuessOptions,
): Promise<Guess> {
  refuseControls(clue, name, MOST_CONTROLS);
  if (isMostlyUtf8(clue)) throw await faultOfUtf8(read, { name, bytes: clue, offset });
  const words = findWords(clue);
  const bytes = Buffer.concat(words.flatMap((word) => [word, NEW_LINE]));
  // Two such letters side by side, as in 'Größe', may be one letter of another script.
  const density = isPlainlyWestern(words) ? 0 : densityOf(bytes);
  const encoding =
    (density > PAIRED_SHARE ? await guessPairs(clue.subarray(0, LOOKED_AT_BYTES)) : undefined) ??
    (density > DENSE_SHARE ? await guessScript(bytes) : await guessLatin(bytes));
  if (encoding) return { encoding, example: exampleOf(clue, encoding, words) };
  const at = clue.findIndex((byte) => UNDEFINED.has(byte));
  if (at < 0) throw await faultOfUtf8(read, { name, bytes: clue, offset });
  const { line, character } = await placeOfByte(read(), offset + at);
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${name}: its character ${character} is neither UTF-8 nor Windows-1252; name the encoding with --encoding, or save the file as 'CSV UTF-8'.`,
  );
}

/** Some words of a list that are not plain ASCII, as they are read in an encoding. */
export function exampleOf(
  clue: Buffer,
  encoding: Encoding,
  words: readonly Buffer[] = findWords(clue),
): string {
  return decodeStart(findExample(clue, words), encoding).trim();
}

const NEW_LINE = Buffer.from('\n');
/** Bytes without a character in Windows-1252. */
const UNDEFINED: ReadonlySet<number> = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);

/** Finds words with characters that are not plain ASCII; a word is a run of letters. */
function findWords(clue: Buffer): readonly Buffer[] {
  const words: Buffer[] = [];
  let sizeBytes = 0;
  for (let at = 0; at < clue.length && sizeBytes < LOOKED_AT_BYTES; at += 1) {
    if ((clue[at] ?? 0) < 0x80) continue;
    let start = at;
    while (isOfWord(clue[start - 1])) start -= 1;
    let end = at + 1;
    while (isOfWord(clue[end])) end += 1;
    words.push(clue.subarray(start, end));
    sizeBytes += end - start;
    at = end;
  }
  return words;
}

function isOfWord(byte = 0): boolean {
  return byte >= 0x80 || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

/** The share of bytes beyond ASCII that have another one beside them. */
function densityOf(bytes: Buffer): number {
  const isHigh = (at: number): boolean => (bytes[at] ?? 0) >= 0x80;
  let high = 0;
  let together = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    if (!isHigh(at)) continue;
    high += 1;
    if (isHigh(at - 1) || isHigh(at + 1)) together += 1;
  }
  return high === 0 ? 0 : together / high;
}

const PAIRS = /^(Shift_JIS|EUC-JP|EUC-KR|GB18030|Big5)$/;
const MIN_CONFIDENCE_OF_PAIRS = 50;

/** Guesses by pairs of bytes that occur in a language; they hardly look like anything else. */
async function guessPairs(bytes: Buffer): Promise<Encoding | undefined> {
  const { analyse } = await import('chardet');
  const found = analyse(bytes).filter(
    ({ name, confidence }) => PAIRS.test(name) && confidence >= MIN_CONFIDENCE_OF_PAIRS,
  );
  return firstPossible(bytes, found);
}

/** Guesses by how often letters follow each other in a language. */
async function guessScript(bytes: Buffer): Promise<Encoding | undefined> {
  const { analyse } = await import('chardet');
  return firstPossible(bytes, analyse(bytes));
}

function firstPossible(
  bytes: Buffer,
  found: readonly { readonly name: string }[],
): Encoding | undefined {
  for (const { name } of found) {
    const encoding = findEncodingByName(name);
    // The last character may be incomplete.
    if (encoding && !decodeStart(bytes, encoding).slice(0, -1).includes('\ufffd')) return encoding;
  }
  return undefined;
}

const EXAMPLE_BYTES = 40;

/** The first such word, with the rest of its cell. */
function findExample(clue: Buffer, [word = clue]: readonly Buffer[]): Buffer {
  const at = word.byteOffset - clue.byteOffset;
  let start = at;
  while (start > at - EXAMPLE_BYTES && isOfPhrase(clue[start - 1])) start -= 1;
  let end = at + word.length;
  while (end < at + EXAMPLE_BYTES && isOfPhrase(clue[end])) end += 1;
  return clue.subarray(start, end);
}

function isOfPhrase(byte = 0): boolean {
  return isOfWord(byte) || byte === 0x20 || byte === 0x2d || byte === 0x2e || byte === 0x26;
}

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
async function guessLatin(words: Buffer): Promise<Encoding | undefined> {
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
function isPlainlyWestern(words: readonly Buffer[]): boolean {
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
