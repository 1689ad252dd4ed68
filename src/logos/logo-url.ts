import { type AllowedHost, isAllowed, portOf } from '../common/hosts.ts';

/** The URL of a picture, or the reason why there is none. */
export type LogoUrl = { readonly url: URL } | { readonly reason: UrlProblem };

/** Problems of a URL that are found before any request. */
export type UrlProblem = 'no_url' | 'invalid_url' | 'unsupported_scheme' | 'unsupported_port';

/**
 * Finds the URL of a picture in the result of an expression: a text, or the first text in a list. A
 * user and password in it are left out; `//host/path` is taken as https.
 */
export function findLogoUrl(value: unknown, allowed: readonly AllowedHost[]): LogoUrl {
  const text = [value].flat().find((item) => typeof item === 'string' && item.trim() !== '');
  if (typeof text !== 'string') return { reason: 'no_url' };
  const trimmed = text.trim();
  return checkLogoUrl(trimmed.startsWith('//') ? `https:${trimmed}` : trimmed, undefined, allowed);
}

/** Checks the URL of a picture, from an answer or from a redirect. */
export function checkLogoUrl(
  text: string,
  base: URL | undefined,
  allowed: readonly AllowedHost[],
): LogoUrl {
  if (!URL.canParse(text, base?.href)) return { reason: 'invalid_url' };
  const url = new URL(text, base?.href);
  if (url.protocol === 'data:' && base === undefined) return { url };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { reason: 'unsupported_scheme' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const port = portOf(url);
  const isUsual = port === 80 || port === 443;
  if (!isUsual && !isAllowed(allowed, { hostname: url.hostname, port })) {
    return { reason: 'unsupported_port' };
  }
  return { url };
}

/** The kinds of pictures that are saved; each is the ending of its files. */
export const PICTURE_KINDS = ['png', 'jpg', 'gif', 'webp', 'avif', 'bmp', 'ico', 'svg'] as const;

export type PictureKind = (typeof PICTURE_KINDS)[number];

/**
 * The kind of picture that bytes are, by their beginning; undefined if they are none. SVG is text
 * and has to be parsed: see `judgeSvg`. A library for this knows hundreds of formats, each with a
 * parser that strangers' bytes would run through; these seven need none.
 */
export function findPictureKind(bytes: Buffer): Exclude<PictureKind, 'svg'> | undefined {
  return KINDS.find(([, isKind]) => bytes.length >= LEAST_BYTES && isKind(bytes))?.[0];
}

/** No picture is smaller, and everything that is checked lies within. */
const LEAST_BYTES = 26;

const KINDS: readonly (readonly [Exclude<PictureKind, 'svg'>, (bytes: Buffer) => boolean])[] = [
  ['png', (bytes) => has(bytes, 0, '\x89PNG\r\n\x1a\n')],
  ['jpg', (bytes) => has(bytes, 0, '\xff\xd8\xff')],
  ['gif', (bytes) => has(bytes, 0, 'GIF87a') || has(bytes, 0, 'GIF89a')],
  ['webp', (bytes) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WEBP')],
  ['avif', (bytes) => has(bytes, 4, 'ftyp') && brandsOf(bytes).some(isAvif)],
  ['bmp', (bytes) => has(bytes, 0, 'BM') && BMP_HEADER_BYTES.has(bytes.readUInt32LE(14))],
  ['ico', (bytes) => has(bytes, 0, '\0\0\x01\0') && bytes.readUInt16LE(4) > 0 && bytes[9] === 0],
];

/** Possible lengths of the header of a BMP, behind its first 14 bytes: its version. */
const BMP_HEADER_BYTES: ReadonlySet<number> = new Set([12, 40, 52, 56, 64, 108, 124]);

function has(bytes: Buffer, at: number, mark: string): boolean {
  return bytes.toString('latin1', at, at + mark.length) === mark;
}

/** The brands in the first box of an ISO media file: the major one, and the compatible ones. */
function brandsOf(bytes: Buffer): readonly string[] {
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256);
  const brands = [bytes.toString('latin1', 8, 12)];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(bytes.toString('latin1', at, at + 4));
  return brands;
}

function isAvif(brand: string): boolean {
  return brand === 'avif' || brand === 'avis';
}
