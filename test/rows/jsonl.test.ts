import { describe, expect, it } from 'vitest';
import { openText, scanAll, sourceOf } from './sources.ts';

const open = (text: string, more = {}) => {
  const source = sourceOf(text, { name: 'list.jsonl', ...more });
  return { source, format: openText(source) };
};

describe('JSONL', () => {
  it('reads columns of any row, and members within members by their path', async () => {
    const late = `${'{"n":1}\n'.repeat(260)}{"site":"acme.com"}\n`;
    expect(open(late).format.columns).toEqual(['n', 'site']);
    const { source, format } = open(
      '{"id":1,"p":{"domain":"a.com","q":{"r":[]}}}\n{"p.domain":"b.com"}\n',
    );
    expect(format.columns).toEqual(['id', 'p', 'p.domain', 'p.q', 'p.q.r']);
    expect(format.sampleRows[0]).toEqual(['1', '', 'a.com', '', '']);
    const rows = await scanAll(format, source, 'p.domain');
    expect(rows.map(({ cell }) => cell)).toEqual(['a.com', 'b.com']);
  });

  it('says of each row where it is', async () => {
    const text = '{"d":"ä.com"}\r\n\n  {"d":["b.com"]}  \n{"d":null}\n{}';
    for (const chunkBytes of [1, 7, 1_000]) {
      const { source, format } = open(text, { chunkBytes });
      const rows = await scanAll(format, source, 'd');
      expect(rows.map((row) => [row.cell, row.line, row.fields])).toEqual([
        ['ä.com', 1, 1],
        ['', 2, 0],
        ['b.com', 3, 1],
        ['', 4, 1],
        ['', 5, 1],
      ]);
      expect(rows.map(({ raw }) => raw).join('')).toBe(text);
    }
  });

  it('remembers names that ours must not take', async () => {
    const { source, format } = open(
      `${'{"d":1}\n'.repeat(3_000)}{"brand_name":1,"constructor":2}\n`,
    );
    await scanAll(format, source, 'd');
    expect([...format.takenNames]).toEqual(['d', 'brand_name']);
  });

  it.each<[string, RegExp]>([
    [
      '{"d":1}\n\n{"d":NaN}\n',
      /line 3 of list\.jsonl: it is no valid JSON \(.*N.*\); expected one JSON/,
    ],
    ['{"d":\n', /line 1 of list\.jsonl: it is no valid JSON/],
    ['{}\n[1]\n', /line 2 of list\.jsonl: it is no object/],
    [`{"d":${'['.repeat(1_100)}${']'.repeat(1_100)}}\n`, /more than 1,000 levels deep/],
    ['\n', /list\.jsonl: it is empty; expected one JSON object per line/],
    [
      '{"error":{"code":500,"message":"no quota"}}\n',
      /no list but the error of an API \('no quota'\)/,
    ],
    ['{"errors":["a","b"],"id":1}', /no list but the error of an API \('a; b'\)/],
    ['{"status":403,"title":"Forbidden"}', /the error of an API \('Forbidden'\)/],
    ['{"fault":{"faultstring":"no key"}}', /the error of an API \('no key'\)/],
    ['{"error":{"message":"no key"},"url":"https://api.com"}', /the error of an API \('no key'\)/],
    ['{"message":"slow down","docs_url":"https://api.com"}', /the error of an API \('slow down'\)/],
    ['{"columns":["site"],"data":[["a.com"]]}', /columns instead of rows/],
    ['{"data":[{"site":"a.com"}],"next":"https://api.com/2"}', /within one object.*\."data"\[\]/],
    ['{"1":{"site":"a.com"},"2":{"site":"b.com"}}', /within one object.*'\.\[\]'/],
    ['{"site":{"0":"a.com","1":"b.com"},"n":{"0":1,"1":2}}', /columns instead of rows.*lines=True/],
  ])('refuses %j', (text, expected) => {
    expect(() => open(text)).toThrow(expected);
  });

  it.each([
    '{"error":null,"site":1}',
    '{"domain":"a.com","error":"late","people":[{"name":"Jo"}]}',
    '{"0":{"0":1},"a":1}',
    '{"properties":{"domain":"a.com"}}',
  ])('takes one row for a row: %j', (text) => expect(() => open(text)).not.toThrow());
});

describe('a row of JSONL', () => {
  it.each([
    [
      '{"n":1.0,"big":12345678901234567890}\n',
      '{"n":1.0,"big":12345678901234567890,"x":"y","z":[1]}\n',
    ],
    ['  { "a" : {"b":[1, 2.50]} }  \r\n', '  { "a" : {"b":[1, 2.50]},"x":"y","z":[1]}\r\n'],
    ['{}', '{"x":"y","z":[1]}\n'],
  ])('gets members at its end: %j', (raw, expected) => {
    const writer = open('{}\n').format.createWriter(['x', 'none', 'z'], { maxFields: 1 });
    expect(writer.row(raw, 1, ['y', undefined, [1]])).toBe(expected);
  });

  it.each<[string, string | undefined]>([
    ['{"city":"", "n":1.0}\n', '{"city":"Ulm", "n":1.0}\n'],
    ['{"city":null}\n', '{"city":"Ulm"}\n'],
    ['{"city":"Bonn"}\n', undefined],
    ['{"n":1.0}\n', '{"n":1.0,"city": "Ulm"}\n'],
  ])('is filled where it is blank: %j', (raw, expected) => {
    const { fillCell } = open('{}\n').format;
    expect(fillCell({ raw, fields: 1 }, { index: 0, name: 'city' }, 'Ulm')?.raw).toBe(expected);
  });

  it('is filled and shown at a path', () => {
    const { fillCell, cellOf } = open('{}\n').format;
    const row = { raw: '{"p":{"city":""}}\n', fields: 1 };
    const city = { index: 0, name: 'p.city' };
    expect(fillCell(row, city, 'Ulm')?.raw).toBe('{"p":{"city":"Ulm"}}\n');
    expect(cellOf('{"p":{"city":"Ulm"}}\n', city)).toBe('Ulm');
  });
});
