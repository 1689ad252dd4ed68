import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LIST_OPTIONS } from '../../src/options/options.ts';
import {
  FORMAT_NAMES,
  isEndingOf,
  LIST_FORMATS,
  type ListFormat,
  READING_OPTIONS,
} from '../../src/rows/list-formats.ts';
import { open, row, workbookOf } from './xlsx/workbooks.ts';

const DOCS = readFileSync(new URL('../../docs/lists.md', import.meta.url), 'utf8');
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** A list of each format with one row. */
const LISTS: Readonly<Record<ListFormat['kind'], string | Buffer>> = {
  csv: '\uFEFFdomain\na.com\n',
  jsonl: '\uFEFF{"domain":"a.com"}\n',
  xlsx: await workbookOf({ sheets: [{ name: 'S', rows: row(1, 'domain') + row(2, 'a.com') }] }),
};

it('the names of all formats stand in a row', () => {
  expect(FORMAT_NAMES).toBe('XLSX, CSV, TSV or JSONL');
});

it('each option of how a list is read says which formats have it, if not all do', () => {
  const ofAll = ['domainColumn', 'registrable'];
  expect([...ofAll, ...Object.keys(READING_OPTIONS)].sort()).toEqual(
    Object.keys(LIST_OPTIONS).sort(),
  );
});

describe.each(Object.values(LIST_FORMATS))('$kind', (format) => {
  it('is in the docs with all of its endings', () => {
    for (const ending of format.endings) expect(DOCS).toContain(`\`${ending}\``);
    for (const name of format.names) expect(DOCS).toContain(name);
  });

  it('is named by README', () => {
    for (const name of format.names) expect(README).toContain(name);
  });

  it('is packed with gzip, and has an encoding, if it is text', () => {
    expect(READING_OPTIONS.encoding.includes(format.kind)).toBe(!format.isBinary);
    expect(isEndingOf(format, `${format.endings[0]}.GZ`.toUpperCase())).toBe(!format.isBinary);
  });

  it('is written as text with the mark that spreadsheets look for, and nothing that they calculate', async () => {
    const list = Buffer.from(LISTS[format.kind]);
    const { format: opened, scanned, rows } = await open(list, { name: `a${format.endings[0]}` });
    const writer = opened.createWriter(['x', 'y'], { maxFields: 1 });
    const { raw = '', fields = 0 } = scanned[0] ?? {};
    const line = writer.row(raw, fields, ['=1+1', '']);
    expect([opened.notation, rows]).toEqual([format, [{ domain: 'a.com' }]]);
    expect(writer.header).toBe(opened.isTable ? '\uFEFFdomain,x,y\n' : '');
    expect(line).toBe(opened.isTable ? "a.com,'=1+1,\n" : '{"domain":"a.com","x":"=1+1","y":""}\n');
  });
});
