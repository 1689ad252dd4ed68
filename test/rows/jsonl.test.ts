import { describe, expect, it } from 'vitest';
import { openJsonl } from '../../src/rows/jsonl.ts';
import { scanAll, sourceOf, writeInBytes } from './sources.ts';

const LIST = { name: 'list.jsonl' };

describe('openJsonl', () => {
  it('finds the columns of the first rows, and what the domain column holds as text', async () => {
    const source = sourceOf('{"a":1,"site":"acme.com"}\r\n\n {"b":null,"site":["x",2]}', LIST);
    const format = openJsonl(source, 'brand_');
    expect(format.columns).toEqual(['a', 'site', 'b']);
    expect(format.sampleRows).toEqual([
      ['1', 'acme.com', ''],
      ['', 'x; 2', ''],
    ]);
    expect(await scanAll(format, source, 'site')).toMatchObject([
      { cell: 'acme.com', sizeBytes: 27, fields: 1 },
      { cell: '', sizeBytes: 1, fields: 0 },
      { cell: 'x; 2', sizeBytes: 26, fields: 1 },
    ]);
  });

  it('says where a value stands that JSON does not know', () => {
    const source = sourceOf('{"a":1}\n{"NaN":"None","b":NaN}\n', LIST);
    expect(() => openJsonl(source, 'brand_')).toThrow(
      'Cannot read line 2 of list.jsonl: NaN stands at its character 19,',
    );
  });

  it.each([
    ['// accounts of May', "'/' stands at its character 1,"],
    ['{"site": acme.com}', "'a' stands at its character 10,"],
    ['{"site":"acme.com",}', "'}' stands at its character 20,"],
    ['{"site":"acme.com"},', "',' stands at its character 20,"],
    ["{'site':'acme.com'}", "''' stands at its character 2,"],
    [
      '{"site":',
      'it ends too early (if its record goes on in the next line, jq -c . makes one line',
    ],
    ['{"site":"ac', 'it ends too early'],
    ['{', 'it ends too early'],
  ])('says what stands where JSON expects something else: %s', (line, expected) => {
    const source = sourceOf(`${line}\n`, LIST);
    expect(() => openJsonl(source, 'brand_')).toThrow(
      `Cannot read line 1 of list.jsonl: it is no valid JSON: ${expected}`,
    );
  });

  it('takes nothing that a row only inherits for one of its members', async () => {
    const source = sourceOf('{"constructor":"acme.com"}\n{"n":1}\n', LIST);
    const format = openJsonl(source, 'brand_');
    expect(format.sampleRows).toEqual([
      ['acme.com', ''],
      ['', '1'],
    ]);
    const rows = await scanAll(format, source, 'constructor');
    expect(rows.map(({ cell }) => cell)).toEqual(['acme.com', '']);
  });

  it('knows all names that ours could meet once every row was read', async () => {
    const source = sourceOf('{"d":1}\n{"brand_status":1,"other":2}\n', LIST);
    const format = openJsonl(source, 'brand_');
    await scanAll(format, source, 'd');
    expect(format.takenNames.has('brand_status')).toBe(true);
  });

  it('adds members behind the own text, and leaves out what there is nothing for', () => {
    const format = openJsonl(sourceOf('{}', LIST), 'b_');
    const writer = format.createWriter(['b_x', 'b_y'], { maxFields: 1 });
    const write = (raw: string, added: readonly unknown[]): string => {
      const text = writer.row(raw, 1, added);
      expect(writeInBytes(writer, { raw, fields: 1 }, added)).toBe(text);
      return text;
    };
    expect(write('{"n":1.0}\r\n', ['t', null])).toBe('{"n":1.0,"b_x":"t","b_y":null}\r\n');
    expect(write(' { } \n', [undefined, [1]])).toBe(' {"b_y":[1]}\n');
    expect(write('{"n":12345678901234567890 }', [undefined, undefined])).toBe(
      '{"n":12345678901234567890}\n',
    );
  });

  it('refuses a row that is nested too deep to be turned into text', async () => {
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n`;
    const expected = 'it is nested more than 1,000 levels deep';
    expect(() => openJsonl(sourceOf(deep, LIST), 'b_')).toThrow(
      `line 1 of list.jsonl: ${expected}`,
    );
    const late = sourceOf('{"a":1}\n'.repeat(300) + deep, LIST);
    const reading = scanAll(openJsonl(late, 'b_'), late, 'a');
    await expect(reading).rejects.toThrow(`line 301 of list.jsonl: ${expected}`);
  });

  it.each([
    ['{"a":1}\n\n[1]\n', /line 3 of list\.jsonl: it is an array/],
    ['{"a":1}\nnull\n', /line 2 of list\.jsonl: it is null/],
    ['"text"\n', /line 1 of list\.jsonl: it is a string/],
    ['{"a":1}\n{"a":\n', /line 2 of list\.jsonl: it is no valid JSON/],
    ['{"a":1}\n\ufeff{"a":2}\n', /line 2 of list\.jsonl: it begins with a byte order mark/],
    ['\n\n', /list\.jsonl: it is empty/],
  ])('refuses %j with its line', async (text, expected) => {
    const source = sourceOf(text, LIST);
    const reading = async () => scanAll(openJsonl(source, 'brand_'), source, 'a');
    await expect(reading()).rejects.toThrow(expected);
  });
});
