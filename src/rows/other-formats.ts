/** Files that are no lists, by the bytes they begin with, and what to do about them. */
const OTHER_FORMATS: readonly (readonly [magic: string, what: string])[] = [
  ['PK\x03\x04', 'an Excel workbook or a ZIP archive; save the sheet as CSV'],
  ['\xd0\xcf\x11\xe0', 'an old Excel workbook; save the sheet as CSV'],
  ['BZh', 'compressed with bzip2; decompress it, or use gzip'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd; decompress it, or use gzip'],
  ['\xfd7zX', 'compressed with xz; decompress it, or use gzip'],
  ['%PDF', 'a PDF; export the list as CSV'],
];

/**
 * What a file is instead of a list, told by its first bytes, and how to make a list of it. Undefined
 * for all that may be one.
 *
 * @example `it is a PDF; export the list as CSV`, without the `it is`
 */
export function findOtherFormat(magic: Buffer): string | undefined {
  const start = magic.toString('latin1');
  return OTHER_FORMATS.find(([prefix]) => start.startsWith(prefix))?.[1];
}
