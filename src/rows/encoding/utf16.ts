import { isUtf8 } from 'node:buffer';
import { type Encoding, UTF_16_BE, UTF_16_LE } from './encodings.ts';

const LOOKED_AT_BYTES = 64 * 1024;

/**
 * Recognises UTF-16 without a byte order mark. In text of Latin letters, every other byte is zero.
 * In text of other scripts, that is so at least at its delimiters and line ends, and the text is
 * not UTF-8.
 */
export function findUtf16(start: Buffer): Encoding | undefined {
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
