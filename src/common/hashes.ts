import { randomBytes } from 'node:crypto';

/**
 * Writes a 64-bit hash of a text to `target[at]` and `target[at + 1]`. Two streams of
 * multiplications over its UTF-16 code units, mixed at the end. It is not cryptographic, but even,
 * and cheap enough for each row of a long list.
 *
 * @param seed keeps texts of different kinds apart
 * @see {@link https://github.com/bryc/code/blob/master/jshash/experimental/cyrb53.js cyrb53}
 */
export function hashText(text: string, seed: number, target: Uint32Array, at: number): void {
  let one = 0xdeadbeef ^ seed;
  let two = 0x41c6ce57 ^ seed;
  for (let place = 0; place < text.length; place += 1) {
    const unit = text.charCodeAt(place);
    one = Math.imul(one ^ unit, 2_654_435_761);
    two = Math.imul(two ^ unit, 1_597_334_677);
  }
  const mixed = Math.imul(one ^ (one >>> 16), 2_246_822_507);
  const other = Math.imul(two ^ (two >>> 16), 2_246_822_507);
  target[at] = mixed ^ Math.imul(two ^ (two >>> 13), 3_266_489_909);
  target[at + 1] = other ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * A 32-bit hash of a text, over its UTF-16 code units. It is fast, but not cryptographic. Its bits
 * are unevenly distributed; {@link fmix32} corrects that where it matters.
 *
 * @param seed keeps texts of different kinds apart
 * @returns from 0 to below 2 ** 32
 * @see {@link http://www.isthe.com/chongo/tech/comp/fnv/ FNV-1a}
 */
export function fnv1a(text: string, seed = 0): number {
  let hash = OFFSET_BASIS ^ seed;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  }
  return hash >>> 0;
}

/**
 * Spreads every bit of a 32-bit hash over all its bits: the last step of MurmurHash3.
 *
 * @returns from 0 to below 2 ** 32
 */
export function fmix32(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** The id of a run in logs, in its summary and in reports to others: 12 hexadecimal digits. */
export function createRunId(): string {
  return randomBytes(6).toString('hex');
}
