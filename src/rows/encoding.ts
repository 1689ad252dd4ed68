import { isAscii, isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import ALPHABETS from './alphabets.json' with { type: 'json' };
import { shorten } from './columns/names.ts';
import { FORMAT_NAMES } from './list-formats.ts';
import { areUtf8, linesOf, type Source, unreadable } from './source.ts';

/** An encoding of the characters of a file, as people call it, which iconv-lite understands. */
export type Encoding = string;

export const UTF_8: Encoding = 'UTF-8';
const UTF_16_LE: Encoding = 'UTF-16 LE';
const UTF_16_BE: Encoding = 'UTF-16 BE';
/** What Western spreadsheets save. */
const WINDOWS_1252 = 'Windows-1252';

/**
 * Names that people use. Latin-1 is read as browsers do: where it differs from Windows-1252, it has
 * control characters that no list holds.
 */
const ALIASES: readonly (readonly [names: RegExp, Encoding])[] = [
  [/^(?:utf8(?:bom|sig)?|ascii)$/, UTF_8],
  [/^utf16(?:le)?$/, UTF_16_LE],
  [/^utf16be$/, UTF_16_BE],
  [/^(?:cp1252|ansi|latin1|iso88591)$/, WINDOWS_1252],
];

/** Names that the decoder takes for encodings, but that no file is written in. */
const NO_ENCODINGS = /^(?:hex|base64|binary|utf7|utf7imap)?$/;

/** Finds an encoding by one of its names, whatever its case and punctuation. */
export function findEncodingByName(name: string): Encoding | undefined {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const known = ALIASES.find(([names]) => names.test(plain))?.[1];
  if (known !== undefined || NO_ENCODINGS.test(plain) || !iconv().encodingExists(plain))
    return known;
  return name.toUpperCase().replace('WINDOWS', 'Windows');
}

/** The decoder, loaded when it is needed: most lists are UTF-8. */
function iconv(): typeof import('iconv-lite') {
  return createRequire(import.meta.url)('iconv-lite') as typeof import('iconv-lite');
}

/** A larger share of control characters means a picture, a PDF, or what is packed. */
const MOST_CONTROLS = 0.02;
/** As many do no harm: zeros from a damaged disk. */
const HARMLESS_CONTROLS = 5;

/**
 * Finds the encoding of a list: the one that was named, else by its byte order mark, else UTF-8 if
 * all of it is, else by what its lines beyond plain ASCII look like. All of it is read.
 *
 * @param insisted the encoding that the user named
 * @throws BrandfillError `UNREADABLE_INPUT` when the list is no text, is in several encodings, or
 *   in none that can be determined
 */
export async function findEncoding(
  name: string,
  insisted: Encoding | undefined,
  { sample: start, read }: Pick<Source, 'sample' | 'read'>,
) {
  if (/^(?:\xff\xfe\0\0|\0\0\xfe\xff)/.test(start.toString('latin1', 0, 4))) {
    throw unreadable(name, 'it is UTF-32, which nothing here reads; save it as UTF-8');
  }
  // A file that was saved twice may have more than one mark.
  const [marks = ''] =
    /^(?:(?:\xef\xbb\xbf)+|(?:\xff\xfe)+|(?:\xfe\xff)+)/.exec(start.toString('latin1', 0, 64)) ??
    [];
  const markBytes = marks.length;
  const marked = markBytes === 0 ? undefined : MARKS[marks.charAt(0)];
  /**
   * Its example are some of its words beyond plain ASCII, if it was guessed from them: ` (such as
   * 'Müller')`.
   */
  const found = (encoding: Encoding, example = '') => ({ encoding, markBytes, example });
  if (marked && marked !== UTF_8) {
    if (!insisted || insisted.startsWith('UTF-16')) return found(marked);
    throw unreadable(
      name,
      `it begins with the byte order mark of ${marked}; leave option 'encoding' out`,
    );
  }
  if (insisted && insisted !== UTF_8) return found(insisted);
  const unmarked = utf16Of(start);
  if (unmarked !== undefined) return found(unmarked);
  const controls = start.filter((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x1a)).length;
  if (controls > HARMLESS_CONTROLS + start.length * MOST_CONTROLS) {
    throw unreadable(
      name,
      `it is no text; expected ${FORMAT_NAMES}, packed with gzip or not at all`,
    );
  }
  if (await areUtf8(read())) return found(UTF_8);
  const odd = await readOddLines(read(), name);
  if (insisted || marked) throw notUtf8(name, odd, odd.firstSure);
  const { encoding, text } = await guessEncoding(name, odd);
  const [example = ''] = EXAMPLE.exec(text) ?? [];
  return found(encoding, example === '' ? '' : ` (such as '${shorten(example.trim())}')`);
}

const MARKS: Readonly<Record<string, Encoding>> = {
  '\xef': UTF_8,
  '\xff': UTF_16_LE,
  '\xfe': UTF_16_BE,
};

/** UTF-16 without a mark: of plain letters, delimiters and line ends every other byte is zero. */
function utf16Of(start: Buffer): Encoding | undefined {
  const zerosAt = (rest: number) =>
    start.filter((byte, at) => byte === 0 && at % 2 === rest).length;
  const [even, odd] = [zerosAt(0), zerosAt(1)];
  if (Math.max(even, odd) * FEW < start.length) return undefined;
  if (even * FEW < odd) return UTF_16_LE;
  return odd * FEW < even ? UTF_16_BE : undefined;
}

/** A tenth of the bytes are zeros at one of the two places, and a tenth of these at the other. */
const FEW = 10;

/** Lines of a list beyond plain ASCII. */
type OddLines = Awaited<ReturnType<typeof readOddLines>>;

const LOOKED_AT_BYTES = 64 * 1024;

/** Letters of Latin-1, and all of three bytes: of Western letters other ones come by accident. */
const UTF_8_FOR_SURE = /[\u00c0-\u00ff\u0800-\u{10ffff}]/u;
/**
 * In scripts of two bytes, or of vowels around consonants, one letter of three may be UTF-8 by
 * accident.
 */
const LETTERS_BY_ACCIDENT = 3;
/** A whole line of them in so many lists is one by accident. */
const LISTS_BY_ACCIDENT = 100;

async function readOddLines(chunks: AsyncIterable<Buffer>, name: string) {
  /** Those that are not UTF-8, up to a size. */
  const others: Buffer[] = [];
  const found = {
    /** The first line that is not UTF-8, and the place of the byte in it. */
    firstOther: 0,
    firstByte: '',
    /** The first line with letters that only UTF-8 has so. */
    firstSure: 0,
    /** The line that is UTF-8 with the most letters beyond ASCII, and how many. */
    longest: 0,
    longestLetters: 0,
    lines: 0,
    /** Letters beyond ASCII as UTF-8 has them, and bytes that it has nowhere. */
    letters: 0,
    flaws: 0,
  };
  let sizeBytes = 0;
  let number = 0;
  for await (const lines of linesOf(chunks, name)) {
    for (const line of lines) {
      number += 1;
      if (isAscii(line)) continue;
      const text = line.toString();
      const letters = text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0;
      found.letters += letters;
      found.lines += 1;
      if (isUtf8(line)) {
        if (UTF_8_FOR_SURE.test(text)) found.firstSure ||= number;
        if (letters <= found.longestLetters) continue;
        found.longest = number;
        found.longestLetters = letters;
        continue;
      }
      found.flaws += text.split(REPLACEMENT).length - 1;
      if (found.firstOther === 0) {
        found.firstOther = number;
        found.firstByte = describeByte(line, text);
      }
      if (sizeBytes < LOOKED_AT_BYTES) others.push(line);
      sizeBytes += line.length;
    }
  }
  return { ...found, others: Buffer.concat(others) };
}

/** Where a line stops being UTF-8, for people. */
function describeByte(line: Buffer, text: string): string {
  const before = text.slice(0, text.indexOf(REPLACEMENT));
  const at = Buffer.byteLength(before);
  const byte = (line[at] ?? 0).toString(16).toUpperCase();
  const behind = before.split(/[,;|\t"]/).at(-1) ?? '';
  return `byte 0x${byte}, number ${(at + 1).toLocaleString('en-US')} of the line${behind.trim() === '' ? '' : `, behind '${shorten(behind)}'`}`;
}

/** If a larger share of the words beyond ASCII is, the script is not Latin. */
const DENSE_SHARE = 0.5;

/**
 * Guesses the encoding of a list that is not UTF-8: the first that makes no odd letters of it. It
 * is not guessed where most letters are UTF-8, or some line is: in all others they would change.
 */
async function guessEncoding(
  name: string,
  found: OddLines,
): Promise<{ readonly encoding: Encoding; readonly text: string }> {
  const { others } = found;
  // Addresses between the names look like a Western language.
  const words = others.toString('latin1').split(/[\0-@]+/);
  const oddWords = words.filter((word) => /[\x80-\xff]/.test(word) && word.length > 2);
  const odd = oddWords.join(' ');
  const isDense = odd.replaceAll(/[\0-\x7f]+/g, '').length > odd.length * DENSE_SHARE;
  const byAccident = found.lines / LETTERS_BY_ACCIDENT ** found.longestLetters;
  const sure = isDense ? byAccident * LISTS_BY_ACCIDENT < 1 && found.longest : found.firstSure;
  if (sure || found.letters > found.flaws) throw notUtf8(name, found, sure || found.longest);
  const candidates = isDense
    ? await denseEncodings(Buffer.from(odd, 'latin1'))
    : latinEncodings(others, new Set(oddWords), (word, encoding) =>
        iconv().decode(Buffer.from(word, 'latin1'), encoding),
      );
  for (const encoding of candidates) {
    const text = iconv().decode(others, encoding, { stripBOM: false });
    if (!text.includes(REPLACEMENT) && !ODD_LETTERS.test(text)) return { encoding, text };
  }
  throw unreadable(
    name,
    `its line ${found.firstOther} is neither UTF-8 nor Windows-1252; name the encoding with option 'encoding', or save the file as 'CSV UTF-8'`,
  );
}

/** What chardet says of an encoding of which it has seen no sign. */
const NO_SIGN = 10;

/** Those of scripts other than Latin. */
async function denseEncodings(words: Buffer): Promise<readonly Encoding[]> {
  const { analyse } = await import('chardet');
  const matches = analyse(words);
  const least = Math.max(NO_SIGN + 1, (matches[0]?.confidence ?? 0) / 2);
  return matches
    .filter(({ confidence }) => confidence >= least)
    .flatMap(({ name }) => findEncodingByName(name) ?? []);
}

/**
 * Signs between letters: the text is in another encoding, or in one of old systems, such as Mac
 * Roman.
 */
const ODD_LETTERS =
  /[\u0080-\u009f]|\p{Ll}[†‡‰‹›•™¤¦§¬¶¸±³¹¼¾]\p{Ll}|\p{Ll}[ŸƒŠŒŽĽ]|\p{L}[Ÿ„“”]\p{Ll}|[\u2150-\u218f\u2500-\u259f]\p{L}/u;
const REPLACEMENT = '\ufffd';
const EXAMPLE = /[\p{L} .&-]{0,20}[^\p{ASCII}][\p{L} .&-]{0,20}/u;

function notUtf8(name: string, found: OddLines, utf8 = 0): Error {
  const { firstOther: other, firstByte, flaws } = found;
  const what =
    utf8 === 0 || flaws === 1
      ? `line ${other} is not UTF-8`
      : `line ${utf8} is in UTF-8 and line ${other} is not, as where lists were joined`;
  return unreadable(
    name,
    `${what} (${firstByte}); save all of it as UTF-8 ('CSV UTF-8' in Excel), or name its encoding with option 'encoding', such as windows-1252`,
  );
}

/**
 * Converts bytes of another encoding into UTF-8.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line of bytes that the encoding does not
 * have
 */
export async function* transcode(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  name: string,
): AsyncGenerator<Buffer> {
  const decoder = iconv().getDecoder(encoding, { stripBOM: false });
  // In UTF-16 the sign is a character like others, which stands in files that were damaged before.
  const flaw = encoding.startsWith('UTF-16') ? HALF : FLAW;
  let line = 1;
  const check = (text: string): Buffer => {
    const at = text.search(flaw);
    line += (at === -1 ? text : text.slice(0, at)).split('\n').length - 1;
    if (at === -1) return Buffer.from(text);
    throw unreadable(
      name,
      `line ${line} has a character that is none in ${encoding}; if the file is in another encoding, name it with option 'encoding', else save it as 'CSV UTF-8'`,
    );
  };
  let half = '';
  for await (const chunk of chunks) {
    const text = half + decoder.write(chunk);
    half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    yield check(text.slice(0, text.length - half.length));
  }
  yield check(half + (decoder.end() ?? ''));
}

/** What a decoder puts for bytes without a character, and half of a pair. */
const FLAW = /\ufffd|\p{Surrogate}/u;
const HALF = /\p{Surrogate}/u;

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
function latinEncodings(
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
