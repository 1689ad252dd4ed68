import { isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { BrandfillError } from '../../common/errors.ts';

export interface Utf8Options {
  /** The name of the list in messages. */
  readonly name: string;
  /** Whether the user named UTF-8; else it was recognised at the beginning of the list. */
  readonly isInsisted: boolean;
}

/**
 * Passes bytes on unchanged and makes sure that they are UTF-8, however the chunks are cut.
 *
 * @param read gives all bytes from the start, each time it is called
 * @throws BrandfillError `UNREADABLE_INPUT` that names the place of the first byte that is not
 * UTF-8.
 */
export async function* checkUtf8(
  read: () => AsyncIterable<Buffer>,
  options: Utf8Options,
): AsyncGenerator<Buffer> {
  let offset = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of read()) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const whole = bytes.subarray(0, bytes.length - unfinishedBytes(bytes));
    if (!isUtf8(whole)) {
      const at = validBytes(whole);
      throw await notUtf8(read, {
        ...options,
        offset: offset + at,
        byte: whole[at],
        next: whole[at + 1],
      });
    }
    const wide = findAppendedUtf16(whole);
    if (wide !== -1) throw await appendedUtf16(read, options.name, offset + wide);
    offset += whole.length;
    rest = Buffer.from(bytes.subarray(whole.length));
    yield chunk;
  }
  if (rest.length > 0) throw await notUtf8(read, { ...options, offset, byte: rest[0] });
}

/** As many letters of UTF-16 in a row are no coincidence. */
const LETTERS_OF_UTF16 = 4;

/** The place where letters of UTF-16 begin, which are valid UTF-8 too, with zeros between them. */
function findAppendedUtf16(bytes: Buffer): number {
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) {
    const isWide = Array.from({ length: LETTERS_OF_UTF16 }).every(
      (_, n) => bytes[at + 2 * n] === 0 && (bytes[at + 2 * n + 1] ?? 0) !== 0,
    );
    if (isWide) return at;
  }
  return -1;
}

/**
 * Refuses a file whose first line is plain ASCII and that goes on in UTF-16.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line
 */
export async function refuseAppendedUtf16({ start, read, name }: MixedOptions): Promise<void> {
  const end = start.indexOf('\n');
  if (end <= 0 || start[end + 1] === 0 || !/^[\t\r -~]+$/.test(start.toString('latin1', 0, end)))
    return;
  const at = findAppendedUtf16(start);
  if (at !== -1) throw await appendedUtf16(read, name, at);
}

interface MixedOptions extends Pick<Utf8Options, 'name'> {
  readonly start: Buffer;
  readonly read: () => AsyncIterable<Buffer>;
}

async function appendedUtf16(
  read: () => AsyncIterable<Buffer>,
  name: string,
  offset: number,
): Promise<BrandfillError> {
  const { line } = await placeOfByte(read(), offset);
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${name}: ${APPENDED}.`,
  );
}

const APPENDED =
  'it is in UTF-16, although the file begins in another encoding, as where a program appended to it (>> in PowerShell); save all of it in one encoding';

interface FaultyBytes {
  /** The name of the list in messages. */
  readonly name: string;
  readonly bytes: Buffer;
  /** The place in the list where they begin. */
  readonly offset: number;
}

/** Describes bytes that are UTF-8 up to some place, and hardly in another encoding. */
export async function faultOfUtf8(
  read: () => AsyncIterable<Buffer>,
  { name, bytes, offset }: FaultyBytes,
): Promise<BrandfillError> {
  const at = validBytes(bytes);
  return await notUtf8(read, {
    name,
    isInsisted: false,
    offset: offset + at,
    byte: bytes[at],
    next: bytes[at + 1],
  });
}

/**
 * This many characters of UTF-8 per fault are no coincidence: Japanese in EUC-JP comes to three or
 * four.
 */
const CHARACTERS_PER_FAULT = 5;

/**
 * Whether bytes are UTF-8 except for few of them, such as rows that were appended from elsewhere.
 */
export function isMostlyUtf8(bytes: Buffer): boolean {
  let characters = 0;
  let faults = 0;
  for (const character of bytes.toString('utf8')) {
    if (character === '\ufffd') faults += 1;
    else if (character > '\x7f') characters += 1;
  }
  return characters > 0 && characters >= CHARACTERS_PER_FAULT * faults;
}

/** Whether bytes are UTF-8, except for an incomplete last character. */
export function isBeginningOfUtf8(bytes: Buffer): boolean {
  return isUtf8(bytes.subarray(0, bytes.length - unfinishedBytes(bytes)));
}

/** The number of bytes at the end that begin a character which the next chunk has to finish. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}

/** The number of bytes before the first that is not UTF-8. */
function validBytes(bytes: Buffer): number {
  let valid = 0;
  let end = bytes.length;
  while (end - valid > 1) {
    const middle = (valid + end) >> 1;
    if (isBeginningOfUtf8(bytes.subarray(0, middle))) valid = middle;
    else end = middle;
  }
  // If the valid part seems to end within a character, the fault begins there.
  return valid - unfinishedBytes(bytes.subarray(0, valid));
}

interface Fault {
  readonly offset: number;
  readonly byte: number | undefined;
  readonly next?: number | undefined;
}

async function notUtf8(
  read: () => AsyncIterable<Buffer>,
  { name, isInsisted, offset, byte = 0, next }: Utf8Options & Fault,
): Promise<BrandfillError> {
  const { line, character } = await placeOfByte(read(), offset);
  const isMark = (byte === 0xff && next === 0xfe) || (byte === 0xfe && next === 0xff);
  if (isMark) return await appendedUtf16(read, name, offset);
  const hex = byte.toString(16).toUpperCase().padStart(2, '0');
  const why = isInsisted
    ? 'is not UTF-8, as --encoding says; leave it out, or name another one'
    : "is not UTF-8, although all before it is; save the file as 'CSV UTF-8', or name its encoding with --encoding, such as windows-1252";
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${name}: its character ${character} (byte 0x${hex}) ${why}.`,
  );
}

/** A place in a text, for people: line and character count from 1. */
interface Place {
  readonly line: number;
  /** The number of the character in its line. */
  readonly character: number;
}

/** The place behind a text. Lines end in a line feed, a carriage return, or both. */
export async function placeAfter(texts: AsyncIterable<string>): Promise<Place> {
  let line = 1;
  let character = 1;
  let endedInReturn = false;
  for await (const text of texts) {
    if (text === '') continue;
    let from = endedInReturn && text.startsWith('\n') ? 1 : 0;
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) {
      if (index < from) continue;
      from = index + end.length;
      line += 1;
      character = 1;
    }
    character += countCharacters(text, from);
    endedInReturn = text.endsWith('\r');
  }
  return { line, character };
}

/** The place of a byte of UTF-8. */
export async function placeOfByte(chunks: AsyncIterable<Buffer>, offset: number): Promise<Place> {
  return await placeAfter(decode(chunks, offset));
}

async function* decode(chunks: AsyncIterable<Buffer>, endBytes: number): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let left = endBytes;
  for await (const chunk of chunks) {
    yield decoder.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/** Counts characters. Those outside of the basic plane are two units of a text. */
function countCharacters(text: string, from: number): number {
  let count = 0;
  for (let at = from; at < text.length; at += 1) {
    if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count += 1;
  }
  return count;
}
