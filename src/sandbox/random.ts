/**
 * Hash a text with a seed to 32 bits. The same text and seed always give the same number.
 * @see http://www.isthe.com/chongo/tech/comp/fnv/ (FNV-1a, then a finishing mix)
 */
export function hashText(text: string, seed: number): number {
  let hash = mix(seed ^ 0x811c9dc5);
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return mix(hash);
}

/**
 * A number from 0 (inclusive) to 1 (exclusive) that depends on nothing but its arguments.
 *
 * @param hash of what is drawn for, from {@link hashText}
 * @param purpose keeps draws for different decisions independent
 * @param ordinal tells repeated draws for the same purpose apart
 */
export function draw(hash: number, purpose: number, ordinal = 0): number {
  const salted = mix(hash ^ Math.imul(purpose, 0x9e3779b1));
  return mix(salted + Math.imul(ordinal, 0x85ebca77)) / 2 ** 32;
}

/** The purposes of draws. The values only need to differ. */
export const purposes = {
  latency: 1,
  latencyAngle: 2,
  fault: 3,
  faultKind: 4,
  notFound: 5,
  brand: 6,
  logo: 7,
  scriptedDomain: 8,
  scriptedCall: 9,
} as const;

/** Spread every input bit over all 32 output bits (murmur3's finisher). */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
