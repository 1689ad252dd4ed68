import { kindOfFormat, type NumberKind } from './dates.ts';
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
