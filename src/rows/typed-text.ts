import type { SheetCell } from './xlsx/cell.ts';
import { styleOfDecimals } from './xlsx/new-styles.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.(\d+))?$/;
/** Sheets compute with no more. */
const MOST_DIGITS = 15;

/**
 * What a text of CSV becomes in a workbook: a number where nothing of it gets lost, shown with as
 * many decimals as it has; all else stays text, such as `007`, `+49 731 1`, `1e5`, `12,5`, dates, and
 * numbers of more than fifteen digits.
 */
export function cellOfText(text: string): SheetCell {
  if (text === '') return null;
  const found = NUMBER.exec(text);
  if (!found || text.replaceAll(/\D/g, '').length > MOST_DIGITS || Number(text) === 0) {
    return text === '0' ? 0 : text;
  }
  const decimals = found[1]?.length ?? 0;
  if (decimals === 0) return Number(text);
  const style = styleOfDecimals(decimals);
  return style === undefined ? text : ['number', text, style];
}
