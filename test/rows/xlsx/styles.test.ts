import { expect, it } from 'vitest';
import { addLongNumbers, readNumberStyles } from '../../../src/rows/xlsx/styles.ts';

function stylesWith(code: string): string {
  const format = `<numFmt numFmtId="200" formatCode="${code}"/>`;
  return `<styleSheet><numFmts>${format}</numFmts><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`;
}

it('a format is read up to the length that spreadsheet programs allow', () => {
  expect(readNumberStyles(stylesWith('00000'))).toEqual([{ kind: 'number', digits: 5 }]);
  expect(readNumberStyles(stylesWith('0'.repeat(100_000)))).toEqual([
    { kind: 'number', digits: 255 },
  ]);
  expect(readNumberStyles(stylesWith('['.repeat(400_000)))).toEqual([
    { kind: 'number', digits: 0 },
  ]);
});

it('the style of long whole numbers goes behind all others, and only it is added', () => {
  const xml = stylesWith('00000').replace('<cellXfs>', '<cellXfs count="1">');
  const added =
    '<xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>';
  expect(addLongNumbers(xml)).toBe(
    xml
      .replace('<cellXfs count="1">', '<cellXfs count="2">')
      .replace('</cellXfs>', `${added}</cellXfs>`),
  );
});
