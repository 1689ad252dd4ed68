import { attributeOf, readXml } from './xml.ts';
import { editXml, findElements, withAttribute } from './xml-edit.ts';

/** The meaning of the numbers in a cell style. */
export interface NumberStyle {
  readonly kind: NumberKind;
  /** The least number of digits, as `00000` shows 123 as 00123; 0 for no such format. */
  readonly digits: number;
}

const PLAIN: NumberStyle = { kind: 'number', digits: 0 };

/**
 * Reads the meaning of numbers in each of the styles that cells refer to.
 *
 * @param xml the part with the styles
 */
export function readNumberStyles(xml: string): readonly NumberStyle[] {
  const codes = new Map<number, string>();
  const formats: number[] = [];
  let isInCells = false;
  readXml(xml, {
    open: (tag) => {
      if (tag.local === 'numFmt') {
        const code = attributeOf(tag, 'formatCode');
        if (code !== undefined) codes.set(Number(attributeOf(tag, 'numFmtId')), code);
      }
      if (tag.local === 'cellXfs') isInCells = true;
      if (tag.local === 'xf' && isInCells) formats.push(Number(attributeOf(tag, 'numFmtId') ?? 0));
    },
    close: (local) => {
      if (local === 'cellXfs') isInCells = false;
    },
  });
  const known = new Map<number, NumberStyle>();
  return formats.map((id) => {
    const found = known.get(id) ?? styleOf(id, codes.get(id));
    known.set(id, found);
    return found;
  });
}

/** The longest format that a spreadsheet program takes. A longer one was made to do harm. */
const MOST_OF_FORMAT = 255;

function styleOf(id: number, whole: string | undefined): NumberStyle {
  const code = whole?.slice(0, MOST_OF_FORMAT);
  const kind = kindOfFormat(id, code);
  const digits = code !== undefined && /^0{2,}$/.test(code) ? code.length : 0;
  return kind === 'number' && digits === 0 ? PLAIN : { kind, digits };
}

/** A style for long whole numbers, which the styles of a workbook get when it is needed. */
export interface LongNumbers {
  /** Its number among the styles of cells. */
  readonly take: () => number;
  readonly isTaken: boolean;
}

/** @param count the number of styles that there are; without any, all cells look the same */
export function createLongNumbers(count: number): LongNumbers {
  let isTaken = false;
  return {
    take: () => {
      isTaken = count > 0;
      return count;
    },
    get isTaken() {
      return isTaken;
    },
  };
}

/** Adds the style for long whole numbers behind all others. */
export function addLongNumbers(xml: string): string {
  const cells = findElements(xml, 2).find(({ local }) => local === 'cellXfs');
  if (!cells || cells.isSelfClosing) throw new Error('there are no styles of cells');
  const count = readNumberStyles(xml).length + 1;
  const end = xml.lastIndexOf('<', cells.end - 1);
  const style = `<${cells.prefix}xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`;
  const tag = withAttribute(xml.slice(cells.start, cells.tagEnd), 'count', String(count));
  return editXml(xml, [
    { start: cells.start, end: cells.tagEnd, text: tag },
    { start: end, end, text: style },
  ]);
}

/** The meaning of numbers with a format. */
type NumberKind = 'number' | 'date' | 'date-time' | 'time' | 'duration';

const DAY_MS = 86_400_000;
/** 9999-12-31, the last day that a sheet knows. */
const MOST_DAYS = 2_958_466;
/** Formats that need no definition. */
const BUILT_IN: Readonly<Record<number, NumberKind>> = {
  14: 'date',
  15: 'date',
  16: 'date',
  17: 'date',
  18: 'time',
  19: 'time',
  20: 'time',
  21: 'time',
  22: 'date-time',
  45: 'duration',
  46: 'duration',
  47: 'duration',
};

/** The kind of a format's numbers: for a built-in format by its number, else by its code. */
function kindOfFormat(id: number, code: string | undefined): NumberKind {
  if (code === undefined) {
    // Dates of East Asian calendars.
    return BUILT_IN[id] ?? ((id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? 'date' : 'number');
  }
  const [bare = ''] = code.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';');
  if (/\[(?:h+|m+|s+)\]/i.test(bare)) return 'duration';
  const tokens = bare.replaceAll(/\[[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasTime = /[hs]/.test(tokens);
  const hasDate = /[yd]/.test(tokens) || (tokens.includes('m') && !hasTime);
  if (hasDate) return hasTime ? 'date-time' : 'date';
  return hasTime ? 'time' : 'number';
}

/**
 * A date of a sheet as text: `2024-03-01`, `2024-03-01T09:30:00`, `09:30:00`, or `26:30:00` for a
 * duration. Sheets know no time zones. Undefined for a number that is no date.
 *
 * @param serial days since the beginning of 1900, or of 1904
 */
export function dateText(
  serial: number,
  { kind, is1904 }: { readonly kind: NumberKind; readonly is1904: boolean },
): string | undefined {
  if (kind === 'number' || !(serial >= 0) || serial >= MOST_DAYS) return undefined;
  if (kind === 'duration') return durationText(Math.round(serial * DAY_MS));
  const ms = Math.round(serial * DAY_MS);
  const hasTime = ms % DAY_MS !== 0;
  if (kind === 'time' && serial < 1) return timeOf(new Date(ms));
  const moment = new Date(epochMs(serial, is1904) + ms);
  const day = moment.toISOString().slice(0, 10);
  return kind === 'date' && !hasTime ? day : `${day}T${timeOf(moment)}`;
}

/** Day 60 of the first calendar is the 29th of February 1900, which never existed. */
function epochMs(serial: number, is1904: boolean): number {
  if (is1904) return Date.UTC(1904, 0, 1);
  return Date.UTC(1899, 11, serial < 60 ? 31 : 30);
}

function timeOf(moment: Date): string {
  const text = moment.toISOString();
  return text.endsWith('.000Z') ? text.slice(11, 19) : text.slice(11, 23);
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Style of header cells in new workbooks. */
export const HEADER_STYLE = 1;
/** Numbers with one to ten decimals have this style and the following ones. */
const FIRST_DECIMALS_STYLE = 2;
const MOST_DECIMALS = 10;
/** Whole numbers that would be shown as `4.9E+11` without a format. */
export const LONG_STYLE: number = FIRST_DECIMALS_STYLE + MOST_DECIMALS;
/** The format `0`, which needs no definition. */
const LONG_FORMAT = 1;
const FIRST_FORMAT = 164;

/** The style of a number with this many decimals; undefined for too many. */
export function styleOfDecimals(decimals: number): number | undefined {
  return decimals > MOST_DECIMALS ? undefined : FIRST_DECIMALS_STYLE + decimals - 1;
}

/** The part with the styles of a new workbook. */
export function stylesXml(namespace: string): string {
  const decimals = Array.from({ length: MOST_DECIMALS }, (_, at) => at + 1);
  const formats = decimals.map(
    (count) => `<numFmt numFmtId="${FIRST_FORMAT + count}" formatCode="0.${'0'.repeat(count)}"/>`,
  );
  const numberXml = (format: number): string =>
    `<xf numFmtId="${format}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`;
  const cells = [
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>',
    ...decimals.map((count) => numberXml(FIRST_FORMAT + count)),
    numberXml(LONG_FORMAT),
  ];
  return (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
    `<styleSheet xmlns="${namespace}"><numFmts count="${formats.length}">${formats.join('')}</numFmts>` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
    `<cellXfs count="${cells.length}">${cells.join('')}</cellXfs>` +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
  );
}
