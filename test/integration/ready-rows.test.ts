import { describe, expect, it } from 'vitest';
import { openTables } from '../../src/store/tables.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';

const ROWS = 5_000;
/** So many are made anew in each night. */
const UNKEPT = 1_000;

describe('a long list, night after night', () => {
  it('has the same rows from cells that are kept as from answers, and new ones in between', async () => {
    const folder = openFolder();
    const { url } = await openApi();
    const rows = Array.from({ length: ROWS }, (_, at) => `${at},maker-${at}.com,"a, b"\n`);
    const write = (more: (at: number) => string): void => {
      folder.write('list.csv', `id,domain,note\n${rows.map((row, at) => more(at) + row).join('')}`);
    };
    const night = async () => {
      const options = { out: 'out.csv', failures: 'failures.csv', baseUrl: url };
      const { summary } = await enrichIn(folder, { input: 'list.csv', ...options });
      const { lookups, statuses } = summary;
      return { lookups, statuses, lines: folder.read('out.csv').split(/\n(?=\d|new)/) };
    };
    write(() => '');
    const first = await night();
    expect(await night()).toEqual({ ...first, lookups: 0 });
    const tables = await openTables(folder.at('.brandfill'));
    expect(tables.ready.getKeysCount()).toBe(ROWS - UNKEPT);
    await tables.close();
    expect(await night()).toEqual({ ...first, lookups: 0 });

    write((at) => (at % 40 === 39 ? `new,brand-${at}.com,\n` : at === 7 ? 'new,n/a,\n' : ''));
    const mixed = await night();
    expect(mixed.lookups).toBe(ROWS / 40);
    expect(mixed.lines.filter((line) => !line.startsWith('new'))).toEqual(first.lines);
    expect(mixed.lines.findIndex((line) => line.startsWith('new,n/a'))).toBe(8);
  });
});
