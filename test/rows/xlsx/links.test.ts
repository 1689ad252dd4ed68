import { expect, it } from 'vitest';
import { readLinks } from '../../../src/rows/xlsx/open-workbook.ts';
import type { Package } from '../../../src/rows/xlsx/package.ts';

const RELATIONS =
  '<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="https://acme.com" TargetMode="External"/></Relationships>';

function packageOf(sheet: string): Package {
  return {
    name: 'list.xlsx',
    paths: [],
    find: (path) => path,
    store: async () => undefined,
    read: async function* () {
      yield Buffer.from(sheet);
    },
    readWhole: async () => Buffer.from(RELATIONS),
  };
}

it('a link over a range that ends before it begins is over no cells, however many rows it names', async () => {
  const links = ['B1:A99999999999', 'C2:D3']
    .map((ref) => `<hyperlink ref="${ref}" r:id="r1"/>`)
    .join('');
  const found = await readLinks(packageOf(`<sheetData></sheetData>${links}`), 'sheet1.xml');
  expect([...found.keys()]).toEqual(['C2', 'D2', 'C3', 'D3']);
});
