import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { domainOf } from './list.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TEXT_COLUMNS = 14;
const ROWS_PER_CHUNK = 500;
const LETTERS = Array.from('ABCDEFGHIJKLMNOPQRST');

/**
 * Writes a workbook of twenty columns as Excel does: texts in a table of their own, five in
 * fourteen of them in one row only, a domain, numbers and a date in each row.
 */
export async function writeWorkbook(path: string, rows: number): Promise<void> {
  const zip = new ZipFile();
  const add = (part: string, text: string): void => zip.addBuffer(Buffer.from(text), part);
  add(
    '[Content_Types].xml',
    `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
  );
  const relations = (...lines: readonly string[]): string =>
    `<Relationships xmlns="${PACKAGE}/relationships">${lines.join('')}</Relationships>`;
  const relation = (id: number, kind: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${OFFICE}/${kind}" Target="${target}"/>`;
  add('_rels/.rels', relations(relation(1, 'officeDocument', 'xl/workbook.xml')));
  add(
    'xl/workbook.xml',
    `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Accounts" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  );
  add(
    'xl/_rels/workbook.xml.rels',
    relations(
      relation(1, 'worksheet', 'worksheets/sheet1.xml'),
      relation(2, 'styles', 'styles.xml'),
      relation(3, 'sharedStrings', 'sharedStrings.xml'),
    ),
  );
  add(
    'xl/styles.xml',
    `<styleSheet xmlns="${MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
  );
  addStream(zip, 'xl/sharedStrings.xml', texts(rows));
  addStream(zip, 'xl/worksheets/sheet1.xml', sheet(rows));
  zip.end();
  await pipeline(zip.outputStream as Readable, createWriteStream(path));
}

function addStream(zip: ZipFile, path: string, chunks: AsyncIterable<string>): void {
  zip.addReadStreamLazy(path, (give) => {
    give(undefined, Readable.from(chunks, { objectMode: false }));
  });
}

/** The names of the columns, words that repeat, then five texts for each row. */
async function* texts(rows: number): AsyncGenerator<string> {
  yield `<sst xmlns="${MAIN}">`;
  yield LETTERS.map((letter, at) => item(at === 0 ? 'website' : `Column ${letter}`)).join('');
  yield Array.from({ length: 1_000 }, (_, at) => item(`Segment ${at} of the market`)).join('');
  for (let from = 0; from < rows; from += ROWS_PER_CHUNK) {
    const length = Math.min(ROWS_PER_CHUNK, rows - from);
    yield Array.from({ length }, (_, more) => {
      const at = from + more;
      const person = `person ${at.toString(36)}`;
      return [domainOf(at), `Maker ${at} Works`, `0015g${at}`, person, `Note of ${person} & others`]
        .map(item)
        .join('');
    }).join('');
  }
  yield '</sst>';
}

function item(text: string): string {
  return `<si><t>${text.replaceAll('&', '&amp;')}</t></si>`;
}

async function* sheet(rows: number): AsyncGenerator<string> {
  yield `<worksheet xmlns="${MAIN}"><sheetData>`;
  yield rowOf(1, (column) => `t="s"><v>${column}</v>`);
  for (let from = 0; from < rows; from += ROWS_PER_CHUNK) {
    const length = Math.min(ROWS_PER_CHUNK, rows - from);
    yield Array.from({ length }, (_, more) => rowOf(from + more + 2, cellOf(from + more))).join('');
  }
  yield '</sheetData></worksheet>';
}

function cellOf(at: number): (column: number) => string {
  const ownTexts = LETTERS.length + 1_000 + at * 5;
  return (column) => {
    if (column < 5) return `t="s"><v>${ownTexts + column}</v>`;
    if (column < TEXT_COLUMNS) return `t="s"><v>${LETTERS.length + ((at * column) % 1_000)}</v>`;
    return column === TEXT_COLUMNS
      ? `s="1"><v>${45_000 + (at % 700)}</v>`
      : `><v>${at * column}.5</v>`;
  };
}

function rowOf(number: number, cell: (column: number) => string): string {
  const cells = LETTERS.map((letter, at) => `<c r="${letter}${number}" ${cell(at)}</c>`);
  return `<row r="${number}" spans="1:20">${cells.join('')}</row>`;
}
