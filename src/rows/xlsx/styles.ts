import { attributeOf, readXml } from './xml.ts';

/** What a cell style says that matters here. */
export interface CellStyle {
  readonly kind: NumberKind;
  /** The least number of digits, as `00000` shows 123 as 00123; 0 for no such format. */
  readonly digits: number;
  /** Whether a blank cell with it can be seen: it has a fill or a border. */
  readonly isVisible: boolean;
}

/** The meaning of numbers with a format. */
type NumberKind = 'number' | 'date' | 'date-time';

/**
 * Reads the styles that cells refer to, in their order.
 *
 * @param xml the part with the styles
 */
export function readStyles(xml: string): readonly CellStyle[] {
  const codes = new Map<number, string>();
  /** Whether fills and borders, in their order, can be seen. */
  const seen: Record<'fill' | 'border', boolean[]> = { fill: [], border: [] };
  const formats: { readonly id: number; readonly fill: number; readonly border: number }[] = [];
  /** The list at depth 1 that is being read. */
  let list = '';
  readXml(xml, {
    open: (tag) => {
      const { local, depth } = tag;
      const numberOf = (name: string): number => Number(attributeOf(tag, name) ?? 0);
      if (depth === 1) list = local;
      if (local === 'numFmt' && list === 'numFmts') {
        codes.set(numberOf('numFmtId'), attributeOf(tag, 'formatCode') ?? '');
      }
      if (local === 'xf' && list === 'cellXfs') {
        formats.push({
          id: numberOf('numFmtId'),
          fill: numberOf('fillId'),
          border: numberOf('borderId'),
        });
      }
      const kind = list === 'fills' ? 'fill' : list === 'borders' ? 'border' : undefined;
      if (kind === undefined || depth < 2) return;
      if (depth === 2) seen[kind].push(false);
      const drawn = attributeOf(tag, kind === 'fill' ? 'patternType' : 'style') ?? 'none';
      if (drawn !== 'none' || local === 'gradientFill') seen[kind][seen[kind].length - 1] = true;
    },
  });
  const known = new Map<number, Pick<CellStyle, 'kind' | 'digits'>>();
  return formats.map(({ id, fill, border }) => {
    const found = known.get(id) ?? formatOf(id, codes.get(id));
    known.set(id, found);
    const { kind, digits } = found;
    const isVisible = seen.fill[fill] === true || seen.border[border] === true;
    return { kind, digits, isVisible };
  });
}

/** The longest format that a spreadsheet program takes. A longer one was made to do harm. */
const MOST_OF_FORMAT = 255;

function formatOf(id: number, whole: string | undefined): Pick<CellStyle, 'kind' | 'digits'> {
  const code = whole?.slice(0, MOST_OF_FORMAT);
  const digits = code !== undefined && /^0{2,}$/.test(code) ? code.length : 0;
  return { kind: kindOfFormat(id, code), digits };
}

/** Dates that need no definition; 27 to 36 and 50 to 58 are those of East Asian calendars. */
const isBuiltInDate = (id: number): boolean =>
  (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58);
const BUILT_IN_DATE_TIME = 22;

/** The kind of a format's numbers. Times and durations without a date stay numbers. */
function kindOfFormat(id: number, code: string | undefined): NumberKind {
  if (code === undefined) {
    if (id === BUILT_IN_DATE_TIME) return 'date-time';
    return isBuiltInDate(id) ? 'date' : 'number';
  }
  const [bare = ''] = code.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';');
  if (/\[[hms]+\]/i.test(bare)) return 'number'; // a duration
  const tokens = bare.replaceAll(/\[[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasTime = /[hs]/.test(tokens);
  const hasDate = /[yd]/.test(tokens) || (tokens.includes('m') && !hasTime);
  return !hasDate ? 'number' : hasTime ? 'date-time' : 'date';
}

const DAY_MS = 86_400_000;
/** 9999-12-31, the last day that a sheet knows. */
const MOST_DAYS = 2_958_466;

/**
 * A date of a sheet as text: `2024-03-01`, `2024-03-01T09:30:00`. Sheets know no time zones.
 * Undefined for a number that is no date.
 *
 * @param serial days since the beginning of 1900, or of 1904
 */
export function dateText(
  serial: number,
  { kind, is1904 }: { readonly kind: NumberKind; readonly is1904: boolean },
): string | undefined {
  if (kind === 'number' || !(serial >= 0) || serial >= MOST_DAYS) return undefined;
  // Day 60 of the first calendar is the 29th of February 1900, which never existed.
  const epoch = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30);
  const ms = Math.round(serial * DAY_MS);
  const text = new Date(epoch + ms).toISOString().slice(0, 19);
  return kind === 'date' && ms % DAY_MS === 0 ? text.slice(0, 10) : text;
}
