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
