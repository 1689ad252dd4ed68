import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Workbook } from '../../../src/rows/xlsx/open-workbook.ts';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { assertRewritable, rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { type PackedText, writeZip } from '../../../src/rows/xlsx/zip-writer.ts';
import { seededRandom } from '../../support/random.ts';
import {
  type OpenedWorkbook,
  open,
  type Parts,
  packRows,
  partsOf,
  readParts,
  row,
  zipOf,
} from './workbooks.ts';

const seed = Math.floor(seededRandom('rewrite-faults.test.ts').next() * 2 ** 31);

const SHEETS = [{ name: 'S', rows: row(1, 'domain') + row(2, 'acme.com') }];

async function openWith(parts: Parts = {}): Promise<Workbook> {
  const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), ...parts });
  return workbookIn(await open(bytes));
}

function workbookIn({ format: { workbook } }: OpenedWorkbook): Workbook {
  if (!workbook) throw new Error('it was opened as a workbook');
  return workbook;
}

/** Rewrites a workbook with other rows in its only sheet. */
async function rewriteWith(
  rows: Pick<PackedText, 'end'>,
  workbook?: Workbook,
): Promise<AsyncGenerator<Buffer>> {
  const opened = workbook ?? (await openWith());
  const { layout } = createInPlaceWriter(opened, {
    added: ['ours'],
    width: 1,
    column: { index: 0 },
  });
  return rewriteWorkbook(opened, { name: 'S', layout, rows }, undefined);
}

async function takeAll(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of bytes) expect(chunk.length).toBeGreaterThan(0);
}

describe('a workbook that is written', () => {
  it('ends with what went wrong with the rows that go into it', async () => {
    const gone = (): Promise<never> => Promise.reject(new Error('the rows are gone'));
    const bytes = await rewriteWith({ end: gone });
    await expect(takeAll(bytes)).rejects.toThrow('the rows are gone');
  });

  it('has the bytes of parts that nobody changes, damaged or not', async () => {
    const other = randomBytes(2_000);
    const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), 'docProps/app.xml': other });
    const packed = deflateRawSync(other);
    const at = bytes.indexOf(packed);
    bytes.fill(0xff, at, at + 40);
    const workbook = workbookIn(await open(bytes));
    await assertRewritable(workbook);
    const chunks: Buffer[] = [];
    for await (const chunk of await rewriteWith(await packRows(oneRow), workbook))
      chunks.push(chunk);
    expect(Buffer.concat(chunks).includes(bytes.subarray(at, at + packed.length))).toBe(true);
  });
});

const oneRow = [Buffer.from('<row/>')];

describe('a workbook that cannot be written again is told before anything is paid for:', () => {
  it.each<[string, Parts]>([
    ['no XML', { '[Content_Types].xml': '<Types><Default' }],
    ['no text', { '[Content_Types].xml': Buffer.from([0xff, 0x3c]) }],
    ['empty', { '[Content_Types].xml': '<Types/>' }],
  ])('the list of its parts is %s', async (_, parts) => {
    await expect(assertRewritable(await openWith(parts))).rejects.toThrow(
      /^Cannot write .*list\.xlsx again: .*; give an --out that ends in \.csv, or open it/,
    );
  });

  it('a part is not where the archive says', async () => {
    const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), 'docProps/app.xml': 'app' });
    bytes.write('XX', bytes.indexOf('docProps/app.xml') - 30);
    const workbook = workbookIn(await open(bytes));
    await expect(assertRewritable(workbook)).rejects.toThrow(/docProps\/app\.xml is not where/);
  });
});

describe('the names of parts', () => {
  const NAMES = fc.constantFrom<(path: string) => string>(
    (path) => path.toUpperCase(),
    (path) => path.toLowerCase(),
    (path) => `/${path}`,
    (path) => path.replaceAll('/', '\\'),
    (path) => path.replaceAll('/', '//'),
    (path) => path.replaceAll('e', '%65'),
    (path) => path,
  );

  it('are the same in any case, with any slashes, in the archive as in what refers to them', async () => {
    const strings = '<si><t>domain</t></si><si><t>acme.com</t></si>';
    const rows =
      '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c></row>';
    const parts = Object.entries(partsOf({ sheets: [{ name: 'S', rows }], strings }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(NAMES, { minLength: parts.length, maxLength: parts.length }),
        NAMES,
        async (spell, target) => {
          const renamed = parts.map(([path, content], at) => [
            spell[at]?.(path) ?? path,
            String(content).replaceAll(
              /Target="(?!http)([^"]*)"/g,
              (_, to: string) =>
                `Target="${target(to === 'xl/workbook.xml' ? `/${to}` : `/xl/${to}`)}"`,
            ),
          ]);
          const workbook = workbookIn(await open(await zipAny(Object.fromEntries(renamed))));
          await assertRewritable(workbook);
          expect(workbook.columns).toEqual(['domain']);
          await takeAll(await rewriteWith(await packRows(oneRow), workbook));
        },
      ),
      { seed, numRuns: 6 },
    );
  });

  it.each<[string, (path: string) => string]>([
    ['in capitals', (path) => path.toUpperCase()],
    ['from the root on', (path) => `/${path}`],
    ['with backslashes', (path) => path.replaceAll('/', '\\')],
  ])(
    'are spelled as the list of parts has them in what is written, were they %s',
    async (_, spell) => {
      const usual = partsOf({ sheets: SHEETS });
      const override = Object.keys(usual)
        .filter((path) => !path.includes('.rels') && !path.startsWith('['))
        .map((path) => `<Override PartName="/${path}" ContentType="x"/>`)
        .join('');
      const all = Object.entries(usual).map(([path, content]) => [
        spell(path),
        String(content).replace('</Types>', `${override}</Types>`),
      ]);
      const workbook = workbookIn(await open(await zipAny(Object.fromEntries(all))));
      const chunks: Buffer[] = [];
      for await (const chunk of await rewriteWith(await packRows(oneRow), workbook))
        chunks.push(chunk);
      const written = Buffer.concat(chunks);
      expect(written.includes('xl\\')).toBe(false);
      expect(Object.keys(await readParts(written))).toEqual(Object.keys(usual));
    },
  );
});

/** The library that packs does not write such names itself. */
async function zipAny(parts: Parts): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const all = Object.entries(parts).map(([path, text]) => ({ path, text: String(text) }));
  for await (const chunk of writeZip(all)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
