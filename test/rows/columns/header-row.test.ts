import { describe, expect, it } from 'vitest';
import { openCsv } from '../../../src/rows/csv/csv.ts';
import { scanAll, sourceOf } from '../sources.ts';

const LIST = 'Name;Web\nAcme;acme.com\n"B;C";bolt.com\n';

describe('lines above a list', () => {
  it.each([
    ['a title', 'Accounts\n', 1],
    ['a title and a blank line', 'Accounts\r\n\r\n', 2],
    ['a quote that is never closed', 'Report "Q3\n', 1],
    ['more cells than the list has', 'a,b,c,d,e\n', 1],
    ['other letters', 'Übersicht\n', 1],
  ])('are skipped: %s', async (_, title, skipLines) => {
    const text = title + LIST;
    for (const chunkBytes of [1, 7, 1_000]) {
      const source = sourceOf(text, { chunkBytes });
      const format = openCsv(source, { skipLines });
      expect(format.columns).toEqual(['Name', 'Web']);
      const rows = await scanAll(format, source, 'Web');
      expect(rows.map(({ cell }) => cell)).toEqual(['acme.com', 'bolt.com']);
      const bytes = rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, format.headBytes);
      expect(bytes).toBe(Buffer.byteLength(text));
    }
  });

  it.each([
    ['Accounts report\n\nName,Web\nAcme,acme.com\nBolt,bolt.com\n', 3],
    ['Accounts report;;\nOf today;;\nName;Web;City\nAcme;acme.com;Ulm\nB;b.com;Bonn\n', 3],
    ['Accounts report\nName;Web\nAcme;acme.com\nBolt;bolt.com\n', 2],
    ['Filter:;Region = DACH\nName;Web\nAcme;acme.com\nBolt;bolt.com\n', 2],
    ['Account;Source\nAcme;Web\nBolt;Phone\ncore.com;Web\n', undefined],
    [LIST, undefined],
    ['domain\nn/a\nacme.com\nbolt.com\n', undefined],
  ])('are noticed: %j', (text, line) => {
    expect(openCsv(sourceOf(text)).lineOfHeader).toBe(line);
  });

  it('end in any way, and cannot be more than there are', () => {
    expect(openCsv(sourceOf(`a\r\nb\rc\n${LIST}`), { skipLines: 3 }).columns).toEqual([
      'Name',
      'Web',
    ]);
    expect(() => openCsv(sourceOf('a\nb'), { skipLines: 2 })).toThrow(/it has no more/);
  });
});
