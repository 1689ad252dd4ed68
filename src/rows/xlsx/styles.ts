import { DAY_MS } from '../../common/format.ts';
import { readXml } from './xml.ts';

/** What a cell style says that matters here. */
export type CellStyle = ReturnType<typeof readStyles>[number];

/**
 * Reads the styles that cells refer to, in their order.
 *
 * @param xml the part with the styles
 */
export function readStyles(xml: string) {
  const codes = new Map<number, string>();
  /** Whether fills and borders, in their order, can be seen. */
  const seen: Record<'fills' | 'borders', boolean[]> = { fills: [], borders: [] };
  const formats: { readonly id: number; readonly fill: number; readonly border: number }[] = [];
  /** The list at depth 1 that is being read. */
  let list = '';
  readXml(xml, {
    open: ({ local, depth, attributes }) => {
      const numberOf = (name: string): number => Number(attributes[name] ?? 0);
      if (depth === 1) list = local;
      if (local === 'numFmt' && list === 'numFmts') {
        codes.set(numberOf('numFmtId'), attributes['formatCode'] ?? '');
      }
      if (local === 'xf' && list === 'cellXfs') {
        formats.push({
          id: numberOf('numFmtId'),
          fill: numberOf('fillId'),
          border: numberOf('borderId'),
        });
      }
      if (depth < 2 || (list !== 'fills' && list !== 'borders')) return;
      if (depth === 2) seen[list].push(false);
      const drawn = attributes[list === 'fills' ? 'patternType' : 'style'] ?? 'none';
      if (drawn !== 'none' || local === 'gradientFill') seen[list][seen[list].length - 1] = true;
    },
  });
  return formats.map(({ id, fill, border }) => {
    const code = codes.get(id)?.slice(0, MOST_OF_FORMAT);
    return {
      /** Whether its numbers are dates. Times and durations without a date are numbers. */
      isDate: code === undefined ? isBuiltInDate(id) : isDateFormat(code),
      /** The least number of digits, as `00000` shows 123 as 00123; 0 for no such format. */
      digits: code !== undefined && /^0{2,}$/.test(code) ? code.length : 0,
      /** Whether it shows numbers as they are. */
      isGeneral: id === 0,
      /** Whether a blank cell with it can be seen: it has a fill or a border. */
      isVisible: seen.fills[fill] === true || seen.borders[border] === true,
    };
  });
}

/** The longest format that a spreadsheet program takes. A longer one was made to do harm. */
const MOST_OF_FORMAT = 255;

/** Dates that need no definition; 27 to 36 and 50 to 58 are those of East Asian calendars. */
function isBuiltInDate(id: number): boolean {
  return (id >= 14 && id <= 17) || id === 22 || (id >= 27 && id <= 36) || (id >= 50 && id <= 58);
}

function isDateFormat(code: string): boolean {
  const [bare = ''] = code.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';');
  if (/\[[hms]+\]/i.test(bare)) return false; // a duration
  const tokens = bare.replaceAll(/\[[^\]]*\]|general|am\/pm|a\/p/gi, '');
  return /[yd]/i.test(tokens) || (/m/i.test(tokens) && !/[hs]/i.test(tokens));
}

/** 9999-12-31, the last day that a sheet knows. */
const MOST_DAYS = 2_958_466;

/**
 * A date of a sheet as text: `2024-03-01`, or `2024-03-01T09:30:00` with a time. Sheets know no
 * time zones. Undefined for a number that is no date.
 *
 * @param serial days since the beginning of 1900, or of 1904
 */
export function dateText(serial: number, is1904: boolean): string | undefined {
  if (!(serial >= 0) || serial >= MOST_DAYS) return undefined;
  // Day 60 of the first calendar is the 29th of February 1900, which never existed.
  const epoch = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30);
  const ms = Math.round(serial * DAY_MS);
  return new Date(epoch + ms).toISOString().slice(0, ms % DAY_MS === 0 ? 10 : 19);
}
