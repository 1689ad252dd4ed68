import { kindOfFormat, type NumberKind } from './dates.ts';
import { attributeOf, readXml } from './xml.ts';

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
