import { isAscii, isUtf8 } from 'node:buffer';
import { BrandfillError } from '../../common/errors.ts';
import {
  type Encoding,
  refuseControls,
  UTF_8,
  UTF_16,
  UTF_16_BE,
  UTF_16_LE,
  UTF_32_BE,
  UTF_32_LE,
} from './encodings.ts';
import type { Clue } from './guess-encoding.ts';
import { checkUtf8, isBeginningOfUtf8, refuseAppendedUtf16 } from './utf8.ts';

/** The encoding of a list, and how it was found. */
export interface FoundEncoding {
  readonly encoding: Encoding;
  /** Length of the byte order mark that the list begins with; 0 for none. */
  readonly markBytes: number;
  readonly by: 'mark' | 'content' | 'option';
  /**
   * Some of its words with characters beyond plain ASCII, if the encoding was guessed from them.
   */
  readonly example?: string | undefined;
  /** Such words as they are read now, if they are UTF-8, although the user named another encoding. */
  readonly utf8Example?: string | undefined;
}

export interface FindEncodingOptions {
  /** The name of the list in messages. */
  readonly name: string;
  /** The beginning of the list. */
  readonly start: Buffer;
  /** Whether `start` is the whole list. */
  readonly isWhole: boolean;
  /** Gives all bytes from the start. */
  readonly read: () => AsyncIterable<Buffer>;
  /** The encoding that the user named. */
  readonly insisted: Encoding | undefined;
}

/** Whether a list begins like UTF-8, but is in another encoding: a program put the mark on top. */
async function isOnlyMarked(
  { read, name, insisted }: FindEncodingOptions,
  mark: Mark,
): Promise<boolean> {
  if (mark.encoding !== UTF_8 || insisted === undefined || WIDE.test(insisted.codec)) return false;
  try {
    for await (const _ of checkUtf8(read, { name, isInsisted: false }));
    return false;
  } catch (error) {
    if (error instanceof BrandfillError) return true;
    throw error;
  }
}

/** Before a column is looked for among signs that nobody can read. */
async function refuseWrongMark({ read, name }: FindEncodingOptions): Promise<void> {
  for await (const _ of checkUtf8(read, { name, isInsisted: false }));
}

/**
 * Finds the encoding of a list: by its byte order mark, else by the first characters that are not
 * plain ASCII, wherever they are.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when the list is no text, is in no encoding that can be
 * determined, or is not in the one that was named.
 */
export async function findEncoding(options: FindEncodingOptions): Promise<FoundEncoding> {
  const { name, start, insisted } = options;
  refusePacked(start, name);
  const mark = findMark(start);
  if (insisted) {
    if (mark && !isSameFamily(insisted, mark.encoding) && !(await isOnlyMarked(options, mark))) {
      throw new BrandfillError(
        'UNREADABLE_INPUT',
        `Cannot read ${name} as ${insisted.label}: it begins with the byte order mark of ${mark.encoding.label}; leave --encoding out.`,
      );
    }
    const encoding =
      insisted === UTF_16 ? (mark?.encoding ?? findUtf16(start) ?? UTF_16_LE) : insisted;
    const utf8Example =
      mark || WIDE.test(encoding.codec) ? undefined : await findUtf8Example(options, encoding);
    return { encoding, markBytes: mark?.sizeBytes ?? 0, by: 'option', utf8Example };
  }
  if (mark) {
    if (mark.encoding === UTF_8 && !isBeginningOfUtf8(start)) await refuseWrongMark(options);
    return { encoding: mark.encoding, markBytes: mark.sizeBytes, by: 'mark' };
  }
  await refuseAppendedUtf16(options);
  const wide = findUtf16(start);
  if (wide) return { encoding: wide, markBytes: 0, by: 'content' };
  refuseControls(start, name, MOST_CONTROLS_IN_TEXT);
  const clue = await findClue(options);
  if (isBeginningOfUtf8(clue.bytes)) return { encoding: UTF_8, markBytes: 0, by: 'content' };
  const { guessEncoding } = await import('./guess-encoding.ts');
  const guess = await guessEncoding(clue, options);
  return { ...guess, markBytes: 0, by: 'content' };
}

/** These are not mistaken for one another, or are checked while they are read. */
const WIDE = /^utf/;

/**
 * Outputs of an earlier run are UTF-8, whatever its list was in, and exports change their encoding.
 * By accident only few characters of another encoding are UTF-8.
 */
async function findUtf8Example(
  options: FindEncodingOptions,
  encoding: Encoding,
): Promise<string | undefined> {
  const clue = await findClue(options);
  if (isAscii(clue.bytes) || !isBeginningOfUtf8(clue.bytes)) return undefined;
  const { exampleOf } = await import('./guess-encoding.ts');
  return exampleOf(clue.bytes, encoding);
}

/** Refuses a list that is still compressed after gzip was undone. */
function refusePacked(start: Buffer, name: string): void {
  const packed = PACKED.find(([magic]) => start.toString('latin1', 0, magic.length) === magic);
  if (!packed) return;
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: behind gzip it is ${packed[1]}; unpack it with gunzip and give what comes out.`,
  );
}

const PACKED: readonly (readonly [magic: string, what: string])[] = [
  ['PK\x03\x04', 'a workbook or another ZIP archive'],
  ['\x1f\x8b', 'compressed with gzip once more'],
];

/** Some programs write a NUL for an empty value, but no list is full of them. */
const MOST_CONTROLS_IN_TEXT = 0.3;

/** Whether two encodings agree; a mark of UTF-16 gives only its byte order. */
function isSameFamily(insisted: Encoding, marked: Encoding): boolean {
  if (insisted === UTF_16) return marked.codec.startsWith('utf16');
  return insisted.codec === marked.codec;
}

/**
 * Finds the part of a list that shows its encoding: the beginning, or whatever follows plain ASCII.
 */
async function findClue({ start, isWhole, read }: FindEncodingOptions): Promise<Clue> {
  if (isWhole || !isAscii(start)) return { bytes: start, offset: 0 };
  let first: Buffer | undefined;
  let offset = 0;
  for await (const chunk of read()) {
    if (first) return { bytes: Buffer.concat([first, chunk]), offset };
    if (isAscii(chunk)) offset += chunk.length;
    else first = chunk;
  }
  return { bytes: first ?? start, offset };
}

/** A byte order mark: its encoding and its length. */
interface Mark {
  readonly encoding: Encoding;
  readonly sizeBytes: number;
}

const MARKS: readonly (readonly [bytes: readonly number[], encoding: Encoding])[] = [
  [[0xef, 0xbb, 0xbf], UTF_8],
  // Begins like the mark of UTF-16, so it comes first.
  [[0xff, 0xfe, 0, 0], UTF_32_LE],
  [[0, 0, 0xfe, 0xff], UTF_32_BE],
  [[0xff, 0xfe], UTF_16_LE],
  [[0xfe, 0xff], UTF_16_BE],
];

/** Finds the byte order mark that a file begins with. A file that was saved twice may have more. */
function findMark(start: Buffer): Mark | undefined {
  const begins = (bytes: readonly number[], from: number): boolean =>
    bytes.every((byte, at) => start[from + at] === byte);
  const found = MARKS.find(([bytes]) => begins(bytes, 0));
  if (!found) return undefined;
  const [bytes, encoding] = found;
  let sizeBytes = bytes.length;
  while (begins(bytes, sizeBytes)) sizeBytes += bytes.length;
  return { encoding, sizeBytes };
}

const LOOKED_AT_BYTES = 64 * 1024;

/**
 * Recognises UTF-16 without a byte order mark. In text of Latin letters, every other byte is zero.
 * In text of other scripts, that is so at least at its delimiters and line ends, and the text is
 * not UTF-8.
 */
function findUtf16(start: Buffer): Encoding | undefined {
  const bytes = start.subarray(0, Math.min(start.length & ~1, LOOKED_AT_BYTES));
  if (bytes.length < 4) return undefined;
  const { even, odd } = countZeros(bytes);
  const many = bytes.length / 4;
  if (odd >= many && even * 20 < odd) return UTF_16_LE;
  if (even >= many && odd * 20 < even) return UTF_16_BE;
  if (isUtf8(bytes)) return undefined;
  if (odd > 0 && even === 0 && hasLineEnds(bytes, 0)) return UTF_16_LE;
  if (even > 0 && odd === 0 && hasLineEnds(bytes, 1)) return UTF_16_BE;
  return undefined;
}

function countZeros(bytes: Buffer): { readonly even: number; readonly odd: number } {
  const zeros = { even: 0, odd: 0 };
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) {
    zeros[at % 2 === 0 ? 'even' : 'odd'] += 1;
  }
  return zeros;
}

const LINE_FEED = 0x0a;

/** Whether line feeds are whole characters, their low byte at an even or odd place. */
function hasLineEnds(bytes: Buffer, place: 0 | 1): boolean {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (at % 2 === place && bytes[place === 0 ? at + 1 : at - 1] === 0) return true;
  }
  return false;
}
