import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FORMAT_NAMES, isEndingOf, LIST_FORMATS } from '../../src/rows/list-formats.ts';

const DOCS = readFileSync(new URL('../../docs/lists.md', import.meta.url), 'utf8');
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

it('the names of all formats stand in a row', () => {
  expect(FORMAT_NAMES).toBe('XLSX, CSV, TSV or JSONL');
});

describe.each(Object.values(LIST_FORMATS))('$kind', (format) => {
  it('is in the docs with all of its endings', () => {
    for (const ending of format.endings) expect(DOCS).toContain(`\`${ending}\``);
    for (const name of format.names) expect(DOCS).toContain(name);
  });

  it('is named by README', () => {
    for (const name of format.names) expect(README).toContain(name);
  });

  it('is packed with gzip if it is text', () => {
    expect(isEndingOf(format, `${format.endings[0]}.GZ`.toUpperCase())).toBe(!format.isBinary);
  });
});
