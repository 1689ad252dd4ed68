import { isAscii, isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { linesOf, unreadable } from './source.ts';

/** An encoding of the characters of a file. */
export interface Encoding {
  /** For people: `Windows-1252`. */
  readonly label: string;
  /** The decoder's name for it. */
  readonly codec: string;
}

export const UTF_8: Encoding = { label: 'UTF-8', codec: 'utf8' };
const UTF_16_LE: Encoding = { label: 'UTF-16 LE', codec: 'utf16le' };
const UTF_16_BE: Encoding = { label: 'UTF-16 BE', codec: 'utf16be' };
const WINDOWS_1252: Encoding = { label: 'Windows-1252', codec: 'windows1252' };
const WINDOWS_1250: Encoding = { label: 'Windows-1250', codec: 'windows1250' };
const KNOWN: readonly Encoding[] = [UTF_8, UTF_16_LE, UTF_16_BE, WINDOWS_1252, WINDOWS_1250];

/**
 * Names that people use, and the decoder's. Latin-1 is read as browsers do: where it differs from
 * Windows-1252, it has control characters that no list holds.
 */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['utf8bom', 'utf8'],
  ['utf8sig', 'utf8'],
  ['ascii', 'utf8'],
  ['utf16', 'utf16le'],
  ['cp1252', 'windows1252'],
  ['ansi', 'windows1252'],
  ['latin1', 'windows1252'],
  ['iso88591', 'windows1252'],
]);

/** Names to show to somebody who mistyped one. */
export const COMMON_ENCODINGS: readonly string[] = (
  'utf-8 utf-16 utf-16le utf-16be windows-1252 latin1 iso-8859-1 iso-8859-2 iso-8859-15 windows-1250 ' +
  'windows-1251 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 koi8-r macintosh cp437 ' +
  'cp850 shift_jis euc-jp euc-kr gb18030 gbk big5'
).split(' ');

/** Names that the decoder takes for encodings, but that no file is written in. */
const NO_ENCODINGS = /^(?:hex|base64|binary|utf7|utf7imap)?$/;

/** Finds an encoding by one of its names, whatever its case and punctuation. */
export function findEncodingByName(name: string): Encoding | undefined {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const codec = ALIASES.get(plain) ?? plain;
  const known = KNOWN.find((one) => one.codec === codec);
  if (known) return known;
  if (NO_ENCODINGS.test(plain) || !iconv().encodingExists(codec)) return undefined;
  return { label: name.toUpperCase().replace('WINDOWS', 'Windows'), codec };
}

/** The decoder, loaded when it is needed: most lists are UTF-8. */
function iconv(): typeof import('iconv-lite') {
  return createRequire(import.meta.url)('iconv-lite') as typeof import('iconv-lite');
}

/** The encoding of a list, and how it was found. */
export interface FoundEncoding {
  readonly encoding: Encoding;
  /** Length of the byte order mark that the list begins with; 0 for none. */
  readonly markBytes: number;
  /** Some of its words beyond plain ASCII, if the encoding was guessed from them. */
  readonly example?: string | undefined;
}

interface FindEncodingOptions {
  /** The name of the list in messages. */
  readonly name: string;
  /** The beginning of the list. */
  readonly start: Buffer;
  /** Whether all of it is UTF-8. */
  readonly isUtf8: boolean;
  /** Gives all bytes from the start. */
  readonly read: () => AsyncIterable<Buffer>;
  /** The encoding that the user named. */
  readonly insisted: Encoding | undefined;
}

/** A larger share of control characters means a picture or a program, or UTF-16 without a mark. */
const MOST_CONTROLS = 0.1;

/**
 * Finds the encoding of a list: the one that was named, else by its byte order mark, else UTF-8 if all
 * of it is, else by what its lines beyond plain ASCII look like. All of it is read.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when the list is no text, is in several encodings, or in
 * none that can be determined
 */
export async function findEncoding(options: FindEncodingOptions): Promise<FoundEncoding> {
  const { name, start, read, insisted } = options;
  const mark = findMark(start);
  if (mark && mark.encoding !== UTF_8) {
    if (insisted && !insisted.codec.startsWith('utf16')) {
      throw unreadable(
        name,
        `it begins with the byte order mark of ${mark.encoding.label}; leave --encoding out`,
      );
    }
    return mark;
  }
  const markBytes = mark?.markBytes ?? 0;
  if (insisted && insisted !== UTF_8) return { encoding: insisted, markBytes };
  const controls = start.filter((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x1a)).length;
  if (controls > start.length * MOST_CONTROLS) {
    throw unreadable(
      name,
      'it is no text; expected a list as CSV, JSONL or XLSX; if it is UTF-16, give --encoding utf-16',
    );
  }
  if (options.isUtf8) return { encoding: UTF_8, markBytes };
  const found = await readOddLines(read());
  if (insisted || mark) throw notUtf8(name, found);
  return { ...(await guessEncoding(name, found)), markBytes };
}

/** The byte order mark that a file begins with. A file that was saved twice may have more. */
function findMark(start: Buffer): FoundEncoding | undefined {
  const [marks = ''] = /^(?:(?:\xef\xbb\xbf)+|(?:\xff\xfe)+|(?:\xfe\xff)+)/.exec(
    start.toString('latin1', 0, 64),
  ) ?? [''];
  if (marks === '') return undefined;
  const encoding = marks[0] === '\xef' ? UTF_8 : marks[0] === '\xff' ? UTF_16_LE : UTF_16_BE;
  return { encoding, markBytes: marks.length };
}

/** Lines of a list beyond plain ASCII. */
interface OddLines {
  /** Those that are not UTF-8, up to a size. */
  readonly others: Buffer;
  /** The numbers of these lines, and of those that are UTF-8 for sure, and not by accident. */
  readonly otherLines: readonly number[];
  readonly utf8Lines: readonly number[];
}

const LOOKED_AT_BYTES = 64 * 1024;

async function readOddLines(chunks: AsyncIterable<Buffer>): Promise<OddLines> {
  const others: Buffer[] = [];
  const otherLines: number[] = [];
  const utf8Lines: number[] = [];
  let sizeBytes = 0;
  let number = 0;
  for await (const lines of linesOf(chunks)) {
    for (const line of lines) {
      number += 1;
      if (isAscii(line)) continue;
      if (!isUtf8(line)) {
        otherLines.push(number);
        if (sizeBytes < LOOKED_AT_BYTES) others.push(line);
        sizeBytes += line.length;
      } else if (UTF_8_FOR_SURE.test(line.toString())) utf8Lines.push(number);
    }
  }
  return { others: Buffer.concat(others), otherLines, utf8Lines };
}

/** Letters of Latin-1, and all of three bytes: by accident other characters come out. */
const UTF_8_FOR_SURE = /[\u00c0-\u00ff\u0800-\u{10ffff}]/u;
/** If at least this share of bytes beyond ASCII has another one beside it, the script is not Latin. */
const DENSE_SHARE = 0.6;
/** In scripts of two bytes a short line may be UTF-8 by accident. */
const UTF_8_BY_ACCIDENT = 0.1;

/**
 * Guesses the encoding of lines that are not UTF-8: what chardet says of scripts other than Latin, else
 * Windows-1252, which Western spreadsheets save, or Windows-1250 if chardet is sure of it.
 */
async function guessEncoding(
  name: string,
  found: OddLines,
): Promise<Pick<FoundEncoding, 'encoding' | 'example'>> {
  const { others, otherLines, utf8Lines } = found;
  const high = others.toString('latin1').match(/[\x80-\xff]+/g) ?? [];
  const together = high.filter(({ length }) => length > 1).join('').length;
  const isDense = together > high.join('').length * DENSE_SHARE;
  if (utf8Lines.length > (isDense ? otherLines.length * UTF_8_BY_ACCIDENT : 0)) {
    throw notUtf8(name, found);
  }
  const { analyse } = await import('chardet');
  const matches = analyse(others);
  const decode = ({ codec }: Encoding): string =>
    iconv().decode(others, codec, { stripBOM: false });
  const encoding = isDense
    ? matches
        .map((match) => findEncodingByName(match.name))
        .find((one) => one && !decode(one).slice(0, -1).includes(REPLACEMENT))
    : latin(matches);
  const text = encoding ? decode(encoding) : REPLACEMENT;
  if (encoding === undefined || text.includes(REPLACEMENT) || ODD_LETTERS.test(text)) {
    throw unreadable(
      name,
      `its line ${otherLines[0]} is neither UTF-8 nor Windows-1252; name the encoding with --encoding, or save the file as 'CSV UTF-8'`,
    );
  }
  return { encoding, example: EXAMPLE.exec(text)?.[0].trim() };
}

/** Signs between small letters: the text is in an encoding of old systems, such as Mac Roman. */
const ODD_LETTERS = /\p{Ll}[\u0080-\u009f†‡‰‹›•™¤¦§¬¶¸]\p{Ll}|\p{Ll}[ŸƒŠŒŽ]\p{Ll}/u;
const REPLACEMENT = '\ufffd';
const EXAMPLE = /[\p{L} .&-]{0,20}[^\p{ASCII}][\p{L} .&-]{0,20}/u;
const MORE_SURE = 10;

function latin(
  matches: readonly { readonly name: string; readonly confidence: number }[],
): Encoding {
  const trust = (names: RegExp): number =>
    Math.max(0, ...matches.filter(({ name }) => names.test(name)).map((one) => one.confidence));
  const isEastern =
    trust(/^(windows-1250|ISO-8859-2)$/) > trust(/^(windows-1252|ISO-8859-1)$/) + MORE_SURE;
  return isEastern ? WINDOWS_1250 : WINDOWS_1252;
}

function notUtf8(name: string, { utf8Lines: [utf8], otherLines: [other] }: OddLines): Error {
  const what =
    utf8 === undefined
      ? `line ${other} is not UTF-8`
      : `line ${utf8} is in UTF-8 and line ${other} is not, as where lists were joined`;
  return unreadable(
    name,
    `${what}; save all of it as 'CSV UTF-8', or name its encoding with --encoding, such as windows-1252`,
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
  { codec, label }: Encoding,
  name: string,
): AsyncGenerator<Buffer> {
  const decoder = iconv().getDecoder(codec, { stripBOM: false });
  // In UTF-16 the sign is a character like others, which stands in files that were damaged before.
  const flaw = codec.startsWith('utf16') ? HALF : FLAW;
  let line = 1;
  const check = (text: string): Buffer => {
    const at = text.search(flaw);
    line += (at === -1 ? text : text.slice(0, at)).split('\n').length - 1;
    if (at === -1) return Buffer.from(text);
    throw unreadable(
      name,
      `line ${line} has a character that is none in ${label}; if the file is in another encoding, name it with --encoding, else save it as 'CSV UTF-8'`,
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
