import { createRequire } from 'node:module';
import { BrandfillError } from '../../common/errors.ts';

/** An encoding of the characters of a file. */
export interface Encoding {
  /** For people: `Windows-1252`. */
  readonly label: string;
  /** The decoder's name for it; `utf8` and `utf16` are ours. */
  readonly codec: string;
}

export const UTF_8: Encoding = { label: 'UTF-8', codec: 'utf8' };
/** UTF-16 whose byte order is given by the file. */
export const UTF_16: Encoding = { label: 'UTF-16', codec: 'utf16' };
export const UTF_16_LE: Encoding = { label: 'UTF-16 LE', codec: 'utf16le' };
export const UTF_16_BE: Encoding = { label: 'UTF-16 BE', codec: 'utf16be' };
export const UTF_32_LE: Encoding = { label: 'UTF-32 LE', codec: 'utf32le' };
export const UTF_32_BE: Encoding = { label: 'UTF-32 BE', codec: 'utf32be' };
export const WINDOWS_1252: Encoding = { label: 'Windows-1252', codec: 'windows1252' };
/**
 * Read as Windows-1252, as browsers do. Both have the same letters, and where they differ Latin-1
 * has control characters that no list holds.
 */
export const LATIN_1: Encoding = { label: 'Latin-1', codec: 'windows1252' };
export const WINDOWS_1250: Encoding = { label: 'Windows-1250', codec: 'windows1250' };
export const MAC_ROMAN: Encoding = { label: 'Mac Roman', codec: 'macintosh' };
export const CP_850: Encoding = { label: 'CP850', codec: 'cp850' };

/** Names that people use and that the decoder does not know, or would display differently. */
const BY_NAME: ReadonlyMap<string, Encoding> = new Map([
  ...named(UTF_8, 'utf8', 'utf8bom', 'utf8sig', 'ascii', 'usascii'),
  ...named(UTF_16, 'utf16', 'unicode', 'ucs2'),
  ...named(UTF_16_LE, 'utf16le', 'ucs2le'),
  ...named(UTF_16_BE, 'utf16be', 'ucs2be'),
  ...named(UTF_32_LE, 'utf32le'),
  ...named(UTF_32_BE, 'utf32be'),
  ...named(WINDOWS_1252, 'windows1252', 'cp1252', 'win1252', '1252', 'ansi'),
  ...named(LATIN_1, 'latin1', 'iso88591', 'l1'),
  ...named(MAC_ROMAN, 'macroman', 'macintosh', 'mac'),
  ...named(CP_850, 'cp850', 'ibm850', '850'),
]);

/** Names to show to somebody who mistyped one. */
export const COMMON_ENCODINGS: readonly string[] = [
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'latin1',
  'iso-8859-1',
  'iso-8859-2',
  'iso-8859-15',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'koi8-r',
  'macintosh',
  'cp437',
  'cp850',
  'shift_jis',
  'euc-jp',
  'euc-kr',
  'gb18030',
  'gbk',
  'big5',
];

/** Names that the decoder takes for encodings, but that no file is written in. */
const NO_ENCODINGS: ReadonlySet<string> = new Set(['hex', 'base64', 'binary', 'utf7', 'utf7imap']);

/** Finds an encoding by one of its names, whatever its case and punctuation. */
export function findEncodingByName(name: string): Encoding | undefined {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const known = BY_NAME.get(plain);
  if (known) return known;
  if (plain === '' || NO_ENCODINGS.has(plain) || !iconv().encodingExists(plain)) return undefined;
  const common = COMMON_ENCODINGS.find((one) => one.replaceAll(/[^a-z0-9]/g, '') === plain);
  return { label: pretty(common ?? name), codec: plain };
}

/** The decoder, loaded when it is needed: most lists are UTF-8. */
export function iconv(): typeof import('iconv-lite') {
  return createRequire(import.meta.url)('iconv-lite') as typeof import('iconv-lite');
}

/** Formats a name: `windows-1251` is `Windows-1251`, `gbk` is `GBK`. */
function pretty(name: string): string {
  const upper = name.toUpperCase();
  return upper.replace(
    /^(W|S)(INDOWS|HIFT)/,
    (_, first: string, rest: string) => first + rest.toLowerCase(),
  );
}

function named(
  encoding: Encoding,
  ...names: readonly string[]
): readonly (readonly [string, Encoding])[] {
  return names.map((name) => [name, encoding] as const);
}

/**
 * Text has no control characters except these: tab, line ends, page ends, and the end of a DOS
 * file.
 */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1a]);

/**
 * Refuses input that is no text, because too much of it is control characters.
 *
 * @param mostShare the largest share allowed, from 0 to 1
 * @throws BrandfillError `UNREADABLE_INPUT`
 */
export function refuseControls(bytes: Buffer, name: string, mostShare: number): void {
  let controls = 0;
  for (const byte of bytes) if (byte < 0x20 && !TEXT_CONTROLS.has(byte)) controls += 1;
  if (controls <= bytes.length * mostShare) return;
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: it is no text; expected a list as CSV, JSONL or XLSX.`,
  );
}
