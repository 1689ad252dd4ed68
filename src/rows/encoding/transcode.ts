import { BrandfillError } from '../../common/errors.ts';
import { type Encoding, iconv, UTF_16_BE, UTF_16_LE } from './encodings.ts';
import { placeAfter } from './utf8.ts';

export interface TranscodeOptions {
  readonly encoding: Encoding;
  /** The name of the list in messages. */
  readonly name: string;
}

/**
 * Converts bytes of another encoding into UTF-8.
 *
 * @param read gives all bytes from the start, each time it is called
 * @throws BrandfillError `UNREADABLE_INPUT` that names the place of bytes that the encoding does
 * not have.
 */
export async function* transcode(
  read: () => AsyncIterable<Buffer>,
  { encoding, name }: TranscodeOptions,
): AsyncGenerator<Buffer> {
  const flaw = flawOf(encoding);
  let units = 0;
  for await (const text of decode(read(), encoding)) {
    const narrow = isUtf16(encoding) ? text.search(appendedNarrow()) : -1;
    if (narrow !== -1) {
      const { line } = await placeAfter(upTo(decode(read(), encoding), units + narrow));
      throw new BrandfillError(
        'UNREADABLE_INPUT',
        `Cannot read line ${line} of ${name}: it is not in UTF-16, although the file begins so, as where a program appended to it; save all of it in one encoding.`,
      );
    }
    if (flaw.test(text)) {
      const at = units + flaw.find(text);
      const { line, character } = await placeAfter(upTo(decode(read(), encoding), at));
      throw new BrandfillError(
        'UNREADABLE_INPUT',
        `Cannot read line ${line} of ${name}: its character ${character} is none in ${encoding.label}; if the file is in another encoding, name it with --encoding, else save it as 'CSV UTF-8'.`,
      );
    }
    units += text.length;
    yield Buffer.from(text);
  }
}

/** Decodes the beginning of a text, as far as it is readable. */
export function decodeStart(bytes: Buffer, encoding: Encoding): string {
  return iconv().decode(bytes, encoding.codec, { stripBOM: false });
}

/** Decodes bytes, and never splits a character that is two units of a text. */
async function* decode(chunks: AsyncIterable<Buffer>, { codec }: Encoding): AsyncGenerator<string> {
  const decoder = iconv().getDecoder(codec, { stripBOM: false });
  let sizeBytes = 0;
  let rest = '';
  for await (const chunk of chunks) {
    sizeBytes += chunk.length;
    const text = rest + decoder.write(chunk);
    const end = text.length - (endsInHalf(text) ? 1 : 0);
    rest = text.slice(end);
    if (end > 0) yield text.slice(0, end);
  }
  // The decoder does not report bytes that are left over.
  const isCut = sizeBytes % unitBytes(codec) !== 0;
  const last = rest + (decoder.end() ?? '') + (isCut ? HALF : '');
  if (last !== '') yield last;
}

async function* upTo(texts: AsyncIterable<string>, units: number): AsyncGenerator<string> {
  let left = units;
  for await (const text of texts) {
    yield text.slice(0, left);
    left -= text.length;
    if (left <= 0) return;
  }
}

/** Half of a surrogate pair, which never stands alone in a text. */
const HALF = '\ud800';
/** Halves that stand alone: with `u`, a pair is one character. */
const HALVES = /\p{Surrogate}/u;
const REPLACEMENT = '\ufffd';

function isUtf16({ codec }: Encoding): boolean {
  return codec === UTF_16_LE.codec || codec === UTF_16_BE.codec;
}

/**
 * Two characters of ASCII that were read as one of UTF-16, so often that it is no coincidence, or with
 * a line end behind them. Chinese has one in four of these.
 */
function appendedNarrow(): RegExp {
  if (narrow) return narrow;
  const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
  const pairs = Array.from({ length: 0x7f - 0x20 }, (_, at) => hex(0x20 + at))
    .map((high) => `\\u${high}20-\\u${high}7e`)
    .join('');
  narrow = new RegExp(`[${pairs}]{3,}(?:\\u0a0d|\\u0d0a|[\\u0a20-\\u0a7e])|[${pairs}]{16,}`);
  return narrow;
}

let narrow: RegExp | undefined;

/** Finds how a text shows that its bytes were not in the encoding. */
function flawOf(encoding: Encoding): {
  readonly test: (text: string) => boolean;
  readonly find: (text: string) => number;
} {
  return isUtf16(encoding)
    ? {
        // U+FFFD may be in the file itself.
        test: (text) => HALVES.test(text),
        find: (text) => text.search(HALVES),
      }
    : {
        test: (text) => text.includes(REPLACEMENT) || text.endsWith(HALF),
        find: (text) => {
          const at = text.indexOf(REPLACEMENT);
          return at === -1 ? text.length - 1 : at;
        },
      };
}

function endsInHalf(text: string): boolean {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
}

function unitBytes(codec: string): number {
  if (codec.startsWith('utf16')) return 2;
  return codec.startsWith('utf32') ? 4 : 1;
}
