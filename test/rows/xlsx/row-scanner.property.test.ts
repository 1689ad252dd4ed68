import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SharedStrings } from '../../../src/rows/xlsx/shared-strings.ts';
import { createRowCells, readSheet, type SheetRow } from '../../../src/rows/xlsx/sheet-reader.ts';
import { seededRandom } from '../../support/random.ts';
import { piecesOf } from '../sources.ts';

const seed = Math.floor(seededRandom('row-scanner.property.test.ts').next() * 2 ** 31);

const TEXTS = ['', ' ', 'acme.com', 'Zoë & Söhne', '_x0041_'];
const strings: SharedStrings = {
  find: (index) => TEXTS[index],
  count: TEXTS.length,
  firstByte: (index) => Buffer.from(TEXTS[index] ?? '')[0],
  close: async () => {},
};
const options = {
  strings,
  styles: [
    { kind: 'number', digits: 0 },
    { kind: 'date', digits: 0 },
    { kind: 'number', digits: 5 },
  ],
  is1904: false,
  links: new Map([['B3', 'https://linked.com/']]),
} as const;

/** Pieces of which cells are made: what programs write, what is unusual, and what is no XML. */
const texts = [
  '1',
  '2',
  '45000',
  '12.50',
  '',
  ' ',
  'acme.com',
  'a &amp; b',
  '&#65;',
  '&#x1F600;',
  'é',
  '日本',
  '\u{1F600}',
  '_x0009_',
  '_x0020_',
  'a\r\nb',
  '\u00A0',
  'a>b',
  '#N/A',
];
const broken = ['&', '&nope;', '&#0;', '\u0001', 'a]]>b', '\uFFFF', '<v>', '9'];
const contents = (text: string): readonly string[] => [
  `<v>${text}</v>`,
  `<v>${text}</v>`,
  `<is><t>${text}</t></is>`,
  `<is><t xml:space="preserve">${text}</t></is>`,
  `<f>SUM(A1:A2)</f><v>${text}</v>`,
  `<f t="shared" si="0"/><v>${text}</v>`,
  `<f>HYPERLINK("https://x.com","${text}")</f>`,
  '<f>A1</f>',
  '<v/>',
  '',
  `<is><r><t>${text}</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is>`,
  `<v><![CDATA[${text}]]></v>`,
  `<!-- ${text} --><v>${text}</v>`,
  `<v>${text}</v><extLst><ext uri="x"/></extLst>`,
  ` <v>${text}</v>\n`,
];
const types = ['', ' t="s"', ' t="s"', ' t="str"', ' t="inlineStr"', ' t="b"', ' t="e"', ' t="d"'];
const unusualTypes = [' t="n"', " t='s'", ' t="x"', ' cm="1"', ' s="1"', ' s="2"', ' s="x"'];
const ends = ['</c>', '</c>', '</c>', '</c >'];

const cell = fc.record({
  skipped: fc.constantFrom(0, 0, 0, 0, 1, 3, -2),
  ref: fc.constantFrom('both', 'both', 'both', 'both', 'none', 'letters'),
  type: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...types) },
    { weight: 1, arbitrary: fc.constantFrom(...unusualTypes) },
  ),
  text: fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...texts) },
    { weight: 1, arbitrary: fc.constantFrom(...broken) },
  ),
  content: fc.nat(),
  isUsual: fc.boolean(),
  end: fc.constantFrom(...ends),
  isSelfClosed: fc.constantFrom(false, false, false, true),
  gap: fc.constantFrom('', '', '', '\n  '),
});

const rowOf = fc.record({
  cells: fc.array(cell, { maxLength: 6 }),
  skipped: fc.constantFrom(0, 0, 0, 2),
  attributes: fc.constantFrom(
    ' spans="1:4"',
    ' ht="15" hidden="1"',
    ' x14ac:dyDescent="0.25"',
    " b='>'",
    ...Array.from({ length: 40 }, () => ''),
    ' a="1" a="2"',
  ),
  isNumbered: fc.constantFrom(true, true, true, false),
  isSelfClosed: fc.constantFrom(false, false, false, true),
  before: fc.constantFrom('', '', '', '\n', '<!-- </row><row r="9"></row> -->', '<?x y?>'),
});

interface Rendered {
  readonly before: string;
  readonly tag: string;
  readonly cells: string;
}

function render(rows: readonly (typeof rowOf extends fc.Arbitrary<infer T> ? T : never)[]) {
  let number = 0;
  return rows.map(({ cells, skipped, attributes, isNumbered, before, isSelfClosed }): Rendered => {
    number += isNumbered ? 1 + skipped : 1;
    let column = 0;
    const xml = cells.map((spec) => {
      column = Math.max(0, column + spec.skipped);
      const letters = String.fromCharCode(65 + column);
      column += 1;
      const ref = { both: ` r="${letters}${number}"`, none: '', letters: ` r="${letters}"` }[
        spec.ref
      ];
      if (spec.isSelfClosed) return `${spec.gap}<c${ref}${spec.type}/>`;
      const isIndex = /t=.s/.test(spec.type) && !spec.type.includes('str');
      // Otherwise nearly all of these cells would refer to no text.
      const text =
        isIndex && !broken.includes(spec.text) ? String(spec.text.length % 5) : spec.text;
      const all = contents(text);
      const content = all[spec.content % (spec.isUsual ? 6 : all.length)];
      return `${spec.gap}<c${ref}${spec.type}>${content}${spec.end}`;
    });
    const tag = `<row${isNumbered ? ` r="${number}"` : ''}${attributes}`;
    return { before, tag, cells: isSelfClosed ? '' : xml.join('') };
  });
}

/** @param mark stands in each row; a comment makes the scanner leave all rows to the XML reader */
function sheetOf(rows: readonly Rendered[], mark: string, prefix: string): Buffer {
  const body = rows.map(({ before, tag, cells }) =>
    mark === '' && cells === '' ? `${before}${tag}/>` : `${before}${tag}>${mark}${cells}</row>`,
  );
  const xml = `<?xml version="1.0"?><worksheet a="é>"><!-- <sheetData> --><cols/><sheetData>${body.join('')}</sheetData><pageSetup x="é"/></worksheet>`;
  return Buffer.from(xml.replaceAll(/<(\/?)(?=[a-zA-Z])/g, `<$1${prefix}`));
}

async function read(xml: Buffer, pieceBytes: number): Promise<unknown> {
  const rowCells = createRowCells(options);
  const describe = (row: SheetRow): unknown => ({
    ...row,
    xml: row.xml.toString(),
    cells: rowCells.read(row.xml, row.number),
    first: rowCells.cellAt(row.xml, row.number, row.firstColumn),
    upTo: rowCells.upTo(row.xml, row.lastColumn).toString(),
  });
  try {
    const rows: unknown[] = [];
    const reading = readSheet(piecesOf(xml, pieceBytes), options);
    let step = await reading.next();
    for (; !step.done; step = await reading.next()) rows.push(...step.value.map(describe));
    return { rows, frame: step.value };
  } catch (error) {
    // Which of two faults is found first is left open.
    return error instanceof Error && error.constructor === Error ? 'refused' : error;
  }
}

it('finds rows and cells in bytes exactly as an XML reader does, or leaves them to it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(rowOf, { minLength: 1, maxLength: 8 }),
      fc.constantFrom('', '', 'x:'),
      fc.integer({ min: 1, max: 400 }),
      async (specs, prefix, pieceBytes) => {
        const rows = render(specs);
        const scanned = await read(sheetOf(rows, '', prefix), pieceBytes);
        expect(scanned).toEqual(await read(sheetOf(rows, '<!---->', prefix), 1_000_000));
      },
    ),
    { seed, numRuns: 120 },
  );
}, 60_000);
