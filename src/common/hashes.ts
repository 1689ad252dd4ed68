import { createHash, randomBytes } from 'node:crypto';

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

/**
 * Names values that together tell one thing from others, in 22 characters: 132 bits of their
 * SHA-256.
 */
export function idOfParts(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** The id of a run in logs, in its summary and in reports to others: 12 hexadecimal digits. */
export function createRunId(): string {
  return randomBytes(6).toString('hex');
}
