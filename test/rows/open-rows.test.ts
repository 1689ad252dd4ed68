import { describe, expect, it } from 'vitest';
import { openRows, splitExtension } from '../../src/rows/open-rows.ts';
import { sourceOf } from './sources.ts';

function kindOf(name: string, content: string): string {
  return openRows(sourceOf(content, { name }), { prefix: 'brand_' }).description;
}

describe('openRows', () => {
  it.each([
    ['list.csv', 'a,b\n', 'CSV'],
    ['list.csv', '{x},b\n', 'CSV'],
    ['LIST.CSV.GZ', 'a;b\n', 'CSV, semicolon-separated'],
    ['list.tsv', 'a,b\tc,d\n', 'CSV, tab-separated'],
    ['list.jsonl', '{}\n', 'JSONL'],
    ['list.ndjson.gz', '{}\n', 'JSONL'],
    ['list.txt', ' {"a":1}\n', 'JSONL'],
    ['standard input', '{"a":1}\n', 'JSONL'],
    ['standard input', 'a|b\n', 'CSV, pipe-separated'],
  ])('opens %s that begins with %j as %s', (name, content, kind) => {
    expect(kindOf(name, content)).toBe(kind);
  });

  it('refuses a JSON array, and says how to make lines of it', () => {
    expect(() => kindOf('list.json', '[{"a":1}]')).toThrow(/JSON array.*jq/);
    expect(() => kindOf('list.csv', '[\n  {"a":1}\n]')).toThrow(/JSON array.*jq/);
    for (const name of ['list.csv', 'list.txt']) {
      expect(kindOf(name, '[id],[domain]\n1,acme.com\n')).toBe('CSV');
    }
  });

  it.each(['list.csv', 'list.tsv.gz'])('refuses %s that is JSONL by the wrong name', (name) => {
    expect(() => kindOf(name, '\n{"domain":"acme.com"}\r\n{"domain":"b.com"}\n')).toThrow(
      /its lines are JSON objects; give it a name that ends in \.jsonl, not in \.[ct]sv\.$/,
    );
  });

  it.each([
    ['list.xls', '<html xmlns:x="urn:schemas-microsoft-com:office:excel">\n', /a web page.*XLSX/],
    ['list.csv', '\n<!DOCTYPE html>\n<title>Sign in</title>', /a web page.*download/],
    ['list.xls', '<table border=1><tr><td>domain', /a web page/],
    ['list.url', '[InternetShortcut]\r\nURL=https://acme.com/\r\n', /only a link/],
    ['list.gsheet', '{"url":"https://docs.google.com/open?id=1","doc_id":"1"}', /only a link/],
    ['list.xls', '<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>', /XML; open it/],
  ])('refuses %s that is %j', (name, content, expected) => {
    expect(() => kindOf(name, content)).toThrow(expected);
  });

  it('takes a name in angle brackets for a name', () => {
    expect(kindOf('list.csv', '<domain>,<city>\nacme.com,Ulm\n')).toBe('CSV');
  });
});

describe('splitExtension', () => {
  it.each([
    ['list.csv', 'list', '.csv'],
    ['a.b/list.csv.gz', 'a.b/list', '.csv.gz'],
    ['list', 'list', ''],
    ['dir.d/list', 'dir.d/list', ''],
    ['a/.hidden', 'a/.hidden', ''],
  ])('cuts %s', (path, stem, extension) => {
    expect(splitExtension(path)).toEqual({ stem, extension });
  });
});
