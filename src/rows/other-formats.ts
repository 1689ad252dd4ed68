// Files that are no lists, and what to do about each: texts to follow `it is`.

const SAVE = 'open it in a spreadsheet program and save it as XLSX or CSV';

const OF_ZIP = 'PK\x03\x04';
const OF_OLD_OFFICE = '\xd0\xcf\x11\xe0';

/** Whether a file begins like a workbook. */
export function isZip(magic: Buffer): boolean {
  return magic.toString('latin1').startsWith(OF_ZIP);
}

/**
 * Says what a file is instead of a list. Undefined for files that may be lists.
 *
 * @param magic its first bytes
 */
export function findOtherFormat(magic: Buffer): string | undefined {
  const start = magic.toString('latin1');
  if (start.startsWith('%PDF'))
    return 'a PDF; copy its table into a spreadsheet program, and save that as XLSX or CSV';
  if (start.startsWith(OF_OLD_OFFICE))
    return 'an old Excel workbook (.xls), or one that is encrypted by a password or a sensitivity label; open it, take that off, and save it as XLSX';
  return start.includes(OF_ZIP) && /\[Content_Types\]|xl\/|_rels\//.test(start)
    ? `a workbook with other bytes in front of it; download it again, or ${SAVE}`
    : undefined;
}

/** What old exports call .xls, and login pages that were saved as a list. */
const OF_WEB =
  /^\s*(?:<(?:\?xml|!doctype html|html|head|body|meta|style|table|div)\b|(?:[\w-]+:.*\r?\n(?:[ \t].*\r?\n)*){0,12}?MIME-Version:)/i;

/** Says what a text is instead of a list, in the same form. */
export function findOtherText(sample: Buffer): string | undefined {
  return OF_WEB.test(sample.toString('utf8', 0, 1_024))
    ? `a web page (HTML, MHTML or XML), whatever its name says; if the list is in it, ${SAVE}, else download the list again`
    : undefined;
}

/**
 * Says what an archive is instead of a workbook, in the same form.
 *
 * @param paths the files in it
 */
export function findOtherArchive(paths: readonly string[]): string | undefined {
  const has = (pattern: RegExp): boolean => paths.some((path) => pattern.test(path));
  const isOffice =
    has(/^\[Content_Types\]\.xml$/i) && !has(/^(?:xl\/workbook\.bin$|word\/|ppt\/)/i);
  return isOffice || has(/^xl\/workbook\.xml$/i)
    ? undefined
    : `no XLSX workbook but another archive (.xlsb, .ods, .numbers, .zip); ${SAVE}, or unpack it`;
}
