import { describe, expect, it } from 'vitest';
import { chooseDomainColumn } from '../../../src/collector/choose-column.ts';
import { makePlan } from '../../../src/collector/first-reading.ts';
import { looksLikeHeader } from '../../../src/rows/columns/table.ts';
import { createDomainReader } from '../../../src/rows/domain/domain.ts';
import type { RowFormat } from '../../../src/rows/row-format.ts';
import type { Source } from '../../../src/rows/source.ts';
import { openText, sourceOf } from '../sources.ts';
import { open, row, workbookOf } from '../xlsx/workbooks.ts';

/** Rows of a sheet, cells separated by `|`; an empty text is a blank row. */
type Rows = readonly string[];

const LIST: Rows = ['Acme|acme.com|Oslo', 'Bolt|bolt.com|Rome', 'Cora|cora.de|Ulm'];
const FIRMS: Rows = ['Firm|Website|City', ...LIST];
const numberOf = (text: string): string | number => (/^\d+$/.test(text) ? Number(text) : text);

/** What is made of the rows: the header, and how many rows the list has, and are below it. */
async function read(source: Source, format: RowFormat): Promise<string> {
  if (!looksLikeHeader(format.columns, format.sampleRows)) return 'refused';
  const column = chooseDomainColumn(source, format, undefined);
  const { planned } = await makePlan({
    source,
    format,
    column,
    readDomain: createDomainReader({ column }),
    kindOf: () => 'due',
    index: { append: async () => {} },
    signal: new AbortController().signal,
  });
  const names = format.columns.filter((name) => name !== '').join('|');
  const { rows, invalidRows, below } = planned;
  const counted = `${names}: ${rows - invalidRows} of ${rows}${below ? `, ${below.rows} below` : ''}`;
  return [counted, ...(format.notices ?? [])].join('; ');
}

const readings = {
  'a CSV file': async (rows: Rows) => {
    const width = Math.max(...rows.map((text) => text.split('|').length));
    const lines = rows.map((text) =>
      [...text.split('|'), ...Array(width).fill('')].slice(0, width),
    );
    const source = sourceOf(`${lines.map((cells) => cells.join(';')).join('\n')}\n`);
    return await read(source, openText(source));
  },
  'a workbook': async (rows: Rows) => {
    const xml = rows.map((text, at) => {
      const cells = text.split('|').map((cell) => (cell === '' ? null : numberOf(cell)));
      return text === '' ? '' : row(at + 1, ...cells);
    });
    const bytes = await workbookOf({ sheets: [{ name: 'S', rows: xml.join('') }] });
    const { source, format } = await open(bytes);
    return await read(source, format);
  },
};

/** What comes of lists: above the rows of the list, or below them. */
const TABLES: Readonly<Record<string, readonly (readonly [Rows, string])[]>> = {
  'the header is right above the first address, however the rows above look': [
    [FIRMS, 'Firm|Website|City: 3 of 3'],
    [['Firm|Link|City', ...LIST], 'Firm|Link|City: 3 of 3'],
    [['Accounts', 'as of 2026', '', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Accounts', 'as of 2026', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Accounts|of all regions', '', 'Firm|Link|City', ...LIST], 'Firm|Link|City: 3 of 3'],
    [['Region:|DACH', 'Owner:|Jo', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Region:|DACH', 'Firm|Link|City', ...LIST], 'Firm|Link|City: 3 of 3'],
    [
      [
        'Report|Accounts',
        'Date|2026-01-01',
        'Firm|Link|City|Fee',
        'A|a.com|Ulm|5',
        'B|b.com|Bonn|6',
      ],
      'Firm|Link|City|Fee: 2 of 2',
    ],
    [['Firm|Website (as in www.a.com)', ...LIST], 'Firm|Website (as in www.a.com): 3 of 3'],
    [['Our websites', 'List|of|firms', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Quarter|Won|Lost', 'Q1|3|4', 'Q2|5|6', '', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [
      ['Quarter|Won|Lost', 'Q1|3|4', 'Q2|5|6', '', 'Firm|Link|City', ...LIST],
      'Firm|Link|City: 3 of 3',
    ],
    [['Region|Domain|Won', 'North|12|3', '', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Source:|https://app.vendor.com/x', 'By:|Jo', '', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Made by https://app.vendor.com in May', '', ...FIRMS], 'Firm|Website|City: 3 of 3'],
    [['Firm|Website|City', '', ...LIST], 'Firm|Website|City: 3 of 3'],
  ],
  'no row of the list is above it': [
    [
      ['Website|Note', 'acme.com', 'bolt.com', 'n/a|sold in May', 'cora.de|asked'],
      'Website|Note: 3 of 4',
    ],
    [
      ['Link|Note', 'acme.com', 'bolt.com', 'n/a|sold in May', 'cora.de|asked'],
      'Link|Note: 3 of 4',
    ],
    [['Firm|Website|City', 'A', 'B', 'C|pending|Ulm', ...LIST], 'Firm|Website|City: 3 of 6'],
    [['Firm|Link|City', 'A||Ulm', 'B||Ulm', 'C|n/a|Ulm', ...LIST], 'Firm|Link|City: 3 of 6'],
    [
      ['Firm|Email|Website', 'A|jo@a.com', 'B|jo@b.com', 'C|jo@c.com|website', 'D|jo@d.com|d.com'],
      'Firm|Email|Website: 1 of 4',
    ],
  ],
  'rows above the header with an address in its column are refused': [
    [['Source|www.vendor.com', '', ...FIRMS], 'refused'],
    [['Dig|dig.no|Oslo', ...FIRMS], 'refused'],
  ],
  'what is below the list is none of it, unless a row of it follows': [
    [
      [...FIRMS, '', 'Source: company sites', '|see https://wiki.vendor.com for more'],
      'Firm|Website|City: 3 of 3, 2 below',
    ],
    [
      [...FIRMS, '', '', 'Copyright 2026 www.vendor.com, all rights reserved'],
      'Firm|Website|City: 3 of 3, 1 below',
    ],
    [[...FIRMS, 'Total|3|'], 'Firm|Website|City: 3 of 3, 1 below'],
    [[...FIRMS, 'Summe:', '', 'as of May'], 'Firm|Website|City: 3 of 3, 2 below'],
    [[...FIRMS, 'Total: 3', 'Average|1|'], 'Firm|Website|City: 3 of 3, 2 below'],
    [
      [...FIRMS, '', 'Partner|Url|Fee', 'Pa|pa.com|5', '', 'Pb|pb.com|6'],
      'Firm|Website|City: 3 of 3, 3 below',
    ],
    [[...FIRMS, '', 'Norway', 'Dig|dig.no|Oslo'], 'Firm|Website|City: 4 of 5'],
    [[...FIRMS, '', 'Shop|Website|City', 'Dig|dig.no|Oslo'], 'Firm|Website|City: 4 of 5'],
    [[...FIRMS, 'Dig||Oslo'], 'Firm|Website|City: 3 of 4'],
    [[...FIRMS, '', 'Dig|unknown|Oslo'], 'Firm|Website|City: 3 of 4'],
    [[...FIRMS, '', 'Dig'], 'Firm|Website|City: 3 of 4'],
    [[...FIRMS, '', 'Dig|dig.no|Oslo'], 'Firm|Website|City: 4 of 4'],
    [[...FIRMS, '', ...Array<string>(60).fill('Dig and sons')], 'Firm|Website|City: 3 of 63'],
  ],
};

describe.each(Object.entries(readings))('in %s', (_, readRows) => {
  it.each(Object.entries(TABLES))('%s', async (__, tables) => {
    for (const [rows, expected] of tables)
      expect(await readRows(rows), rows.join('\n')).toBe(expected);
  });
});

describe.each(Object.entries(readings))('in %s, domains outside of the list', (_, readRows) => {
  it('end the run where they are more than those in it', async () => {
    const second = [
      '',
      'Partner|Url|Fee',
      ...Array.from({ length: 4 }, (_, at) => `P|p${at}.com|5`),
    ];
    await expect(readRows([...FIRMS, ...second])).rejects.toThrow(
      /below 3 rows there is another table in (?:line|sheet row) 6 with 4 domains/,
    );
  });

  it('are told where they stand above it', async () => {
    expect(await readRows(['Source||www.vendor.com', '', ...FIRMS])).toBe(
      "Firm|Website|City: 3 of 3; Above the header stands 'www.vendor.com', which is not looked up: if it is of the list, move the header above it.",
    );
  });
});

describe('in a workbook, a table', () => {
  const sheet = (rows: Rows): string =>
    rows.map((text, at) => row(at + 1, ...text.split('|').map((cell) => cell || null))).join('');
  const table = (ref: string): string =>
    `<table id="1" name="T" displayName="T" ref="${ref}"><tableColumns count="3"><tableColumn id="1" name="a"/></tableColumns></table>`;

  it.each<[string, Rows, string, string]>([
    [
      'ends the list',
      [...FIRMS, 'Note|see https://vendor.com, please|'],
      'A1:C4',
      '3 of 3, 1 below',
    ],
    [
      'goes on with rows that were typed below it',
      [...FIRMS, 'Dig|dig.no|Oslo'],
      'A1:C4',
      '4 of 4',
    ],
    [
      'says which row is its header, whatever stands above it',
      ['Our|Website|report', ...FIRMS],
      'A2:C5',
      '3 of 3',
    ],
    [
      'of others is none of it',
      [...FIRMS, 'Partner|Url|Fee', 'Pa|pa.com|5'],
      'A5:C6',
      '3 of 3, 2 below',
    ],
  ])('%s', async (_, rows, ref, expected) => {
    const bytes = await workbookOf({
      sheets: [{ name: 'S', rows: sheet(rows), table: table(ref) }],
    });
    const { source, format } = await open(bytes);
    expect(await read(source, format)).toBe(`Firm|Website|City: ${expected}`);
  });
});

it('a title above a CSV list stays in the output, and the header is said', async () => {
  const source = sourceOf(
    '"Notes: one, two\nand more"\r\n\r\nFirm,URL\r\nAcme,https://acme.com\r\n',
  );
  const format = openText(source);
  expect(format.description).toBe('CSV, header in line 4');
  expect(format.createWriter(['x'], { maxFields: 2 }).header).toBe(
    '"Notes: one, two\nand more"\r\n\r\nFirm,URL,x\r\n',
  );
});

describe('a row is a header', () => {
  const below = (cell: string) => [
    ['Acme', 'acme.com', cell],
    ['Bolt', 'bolt.com', cell],
  ];

  it.each<[readonly string[], readonly (readonly string[])[], boolean]>([
    [['company', 'website', 'E-mail', ''], [], true],
    [['company.name', 'contact.email', 'account.owner.id'], [], true],
    [['domain'], [], true],
    [['acme.company'], [], false],
    [['Acme', 'acme.com'], [], false],
    [['Acme', 'https://www.acme.com/x'], [], false],
    [['Acme', 'jane@acme.com'], [], false],
    [['Acme', ' "ACME.com" '], [], false],
    // A column that is called after a site.
    [['Name', 'Website', 'Booking.com'], below('yes'), true],
    [['Name', 'Website', 'account.group'], below(''), true],
    [['Acme', 'Ulm', 'acme.com'], below('bolt.com'), false],
    [['Acme', 'Ulm', 'n/a'], below('bolt.com'), false],
    [['Acme', 'Ulm', 'www'], below('bolt.com'), true],
    [['Acme', 'Ulm', 'No'], below('7'), true],
    [['Acme', 'Ulm', 'www.acme.website'], below('cora.de'), false],
  ])('%j over %j: %j', (names, rows, expected) => {
    expect(looksLikeHeader(names, rows)).toBe(expected);
  });
});
