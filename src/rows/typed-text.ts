import type { SheetCell } from './xlsx/cell.ts';
import { LONG_STYLE, styleOfDecimals } from './xlsx/new-styles.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.(\d+))?$/;
/** Sheets do not compute with more digits. */
const MOST_DIGITS = 15;
/** Nor do they show more, unless a format says so. */
const MOST_SHOWN = 11;

/**
 * Converts a text of CSV into a cell of a workbook. It becomes a number if nothing of it gets lost,
 * shown with as many decimals as it has. Everything else stays text, such as `007`, `+49 731 1`,
 * `1e5`, `12,5`, dates, and numbers of more than fifteen digits.
 */
export function cellOfText(text: string): SheetCell {
  if (text === '') return null;
  const found = NUMBER.exec(text);
  const digits = text.replaceAll(/\D/g, '').length;
  if (!found || digits > MOST_DIGITS || Number(text) === 0) {
    return text === '0' ? 0 : text;
  }
  const decimals = found[1]?.length ?? 0;
  if (decimals === 0) return digits > MOST_SHOWN ? ['number', text, LONG_STYLE] : Number(text);
  const style = styleOfDecimals(decimals);
  return style === undefined ? text : ['number', text, style];
}
