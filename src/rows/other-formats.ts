import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';

const OLD_OFFICE = '\xd0\xcf\x11\xe0';
const ZIP = 'PK\x03\x04';
/** Only this much of an old Office file is searched for the names of its parts, in two places. */
const SEARCHED_BYTES = 1_000_000;
const DIRECTORY_BYTES = 64_000;

const OLD_WORKBOOK =
  'an old Excel workbook (.xls); open it and save it as XLSX (in Excel: File > Save As > Excel Workbook) or as CSV';

/** Files that are no lists, by the bytes they begin with, each with what to do about it. */
const OTHER_FORMATS: readonly (readonly [magic: string, what: string])[] = [
  ['BZh', 'compressed with bzip2; decompress it, or use gzip'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd; decompress it, or use gzip'],
  ['\xfd7zX', 'compressed with xz; decompress it, or use gzip'],
  ['%PDF', 'a PDF; export the list as XLSX or CSV'],
  ['PAR1', 'a Parquet file; export the list as CSV or JSONL'],
  [
    '\x00\x05\x16\x07',
    'what macOS notes of a file beside it; give the file without ._ in its name',
  ],
  ['\x09\x00\x04\x00', OLD_WORKBOOK],
  ['\x09\x02\x06\x00', OLD_WORKBOOK],
  ['\x09\x04\x06\x00', OLD_WORKBOOK],
  ['\x09\x08\x08\x00', OLD_WORKBOOK],
];

const LABELLED =
  'encrypted by a sensitivity label (rights management), and there is no password to take off; open it, and save a copy without the label (in Excel: Home > Sensitivity) as XLSX, or as CSV';

/** What an old Office file is, by names of its parts. The first that is in it counts. */
const BY_PART: readonly (readonly [part: string, what: string])[] = [
  ['DRMEncrypted', LABELLED],
  ['\tDRMContent', LABELLED],
  [
    'EncryptedPackage',
    'protected by a password; open it, take the password off (in Excel: File > Info > Protect Workbook > Encrypt with Password) and save it again as XLSX',
  ],
  ['WordDocument', 'a document and no workbook; save the list as XLSX or CSV'],
  ['__substg1.0_', 'an e-mail and no workbook; save the list that is attached to it'],
];
/** Describes a `.numbers` file, which may be an archive or a folder. */
export const NUMBERS_SPREADSHEET =
  'a Numbers spreadsheet; open it and export it as XLSX or CSV (in Numbers: File > Export To > Excel)';

/** Whether a file begins like a workbook. */
export function isZip(magic: Buffer): boolean {
  return magic.toString('latin1').startsWith(ZIP);
}

/** What programs write beside a list that is open in them, by its name. */
const LOCK_FILES: readonly RegExp[] = [/^~\$(.+)/, /^\.~lock\.(.+)#$/];

/**
 * Says what a file is instead of a list, and how to make a list of it. Undefined for files that may
 * be lists.
 *
 * @param magic its first four bytes
 * @example `a PDF; export the list as XLSX or CSV`, to follow `it is`
 */
export async function findOtherFormat(
  magic: Buffer,
  handle: FileHandle,
  name: string,
): Promise<string | undefined> {
  for (const pattern of LOCK_FILES) {
    const open = pattern.exec(basename(name))?.[1];
    if (open === undefined) continue;
    return `the lock file of a list that is open in a spreadsheet program, and has no rows; save and close that list, and give ${open} itself`;
  }
  const start = magic.toString('latin1');
  if (start !== OLD_OFFICE) return OTHER_FORMATS.find(([prefix]) => start.startsWith(prefix))?.[1];
  const names = await readNamesOfParts(handle);
  return (
    BY_PART.find(([part]) => names.includes(Buffer.from(part, 'utf16le')))?.[1] ?? OLD_WORKBOOK
  );
}

/** Bytes that have the names of the parts of an old Office file. They may be anywhere in it. */
async function readNamesOfParts(handle: FileHandle): Promise<Buffer> {
  const read = async (sizeBytes: number, position: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(sizeBytes),
      0,
      sizeBytes,
      position,
    );
    return buffer.subarray(0, bytesRead);
  };
  const start = await read(SEARCHED_BYTES, 0);
  if (start.length < 512) return start;
  const sectorBytes = 2 ** Math.min(16, start.readUInt16LE(0x1e));
  const directory = await read(DIRECTORY_BYTES, (start.readUInt32LE(0x30) + 1) * sectorBytes);
  return Buffer.concat([start, directory]);
}

/** Beginnings of files that old exports call .xls, and of login pages that were saved as a list. */
const OTHER_TEXTS: readonly (readonly [beginning: RegExp, what: string])[] = [
  [
    /^\s*<(!doctype html|html|head|body|meta|style|table|div)\b/i,
    'a web page (HTML); if the list is on it, open it in a spreadsheet program and save it as XLSX or CSV, else download the list again',
  ],
  [
    /^\s*(?:[\w-]+:.*\r?\n(?:[ \t].*\r?\n)*){0,12}?MIME-Version:/i,
    'a web archive (MHTML); open it in a spreadsheet program and save it as XLSX or CSV',
  ],
  [
    /^ID;P\w*(?:;[A-Z]+)*\r?\n(?:P;P|O;|B;Y\d|[CF];)/,
    'a symbolic link file (SYLK); open it in a spreadsheet program and save it as XLSX or CSV',
  ],
  [
    /^version https:\/\/git-lfs\.github\.com\/spec\//,
    'what Git keeps in place of a large file; get the file itself with git lfs pull',
  ],
  [
    /^\s*(?:\[InternetShortcut\]|\{\s*"url"\s*:\s*"https:\/\/docs\.google\.com\/)/i,
    'only a link to something in the browser; open it, and download the list as XLSX or CSV',
  ],
  [/^\{\\rtf\d/, 'a text document (RTF); save the list as XLSX or CSV'],
  [/^\s*<\?xml\b/i, 'XML; open it in a spreadsheet program and save it as XLSX or CSV'],
];

/** Says what a text is instead of a list, in the same form. */
export function findOtherText(sample: Buffer): string | undefined {
  const start = sample.toString('utf8', 0, 1_024);
  return OTHER_TEXTS.find(([beginning]) => beginning.test(start))?.[1];
}

/**
 * Says what an archive is instead of a workbook, in the same form.
 *
 * @param paths the files in it
 * @param readMimetype reads the file of this name
 */
export async function findOtherArchive(
  paths: readonly string[],
  readMimetype: () => Promise<string>,
): Promise<string | undefined> {
  const has = (pattern: RegExp): boolean => paths.some((path) => pattern.test(path));
  if (has(/^xl\/workbook\.xml$/i)) return undefined;
  if (has(/^xl\/workbook\.bin$/i)) {
    return 'a binary Excel workbook (.xlsb); open it and save it as XLSX (in Excel: File > Save As > Excel Workbook) or as CSV';
  }
  if (has(/^mimetype$/)) {
    const type = await readMimetype();
    return type.includes('spreadsheet')
      ? 'an OpenDocument spreadsheet (.ods); open it and save it as XLSX (in LibreOffice: File > Save As > Excel 2007-365) or as CSV'
      : 'an OpenDocument file and no spreadsheet; save the list as XLSX or CSV';
  }
  if (has(/^index(\.(zip|apxl|xml|numbers)$|\/.*\.iwa$)/i)) return NUMBERS_SPREADSHEET;
  if (has(/^(word|ppt)\//i)) return 'a document and no workbook; save the list as XLSX or CSV';
  return has(/^\[Content_Types\]\.xml$/i)
    ? undefined
    : 'a ZIP archive and no workbook; unpack it and take the list out of it';
}
