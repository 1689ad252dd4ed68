import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findColumn } from '../../../src/rows/columns/domain-column.ts';
import { shorten } from '../../../src/rows/columns/names.ts';

describe('a column is found', () => {
  it.each<[readonly string[], string, number | undefined]>([
    [['Domain', 'domain'], 'domain', 1],
    [['id', ' Web Site '], 'web site', 1],
    [['\ufeffDomain'], ' domain', 0],
    [['id', 'Old\nwebsite'], 'Old website', 1],
    [['id', 'Company\u00a0Website\u200b'], 'Company Website', 1],
    [['company domain'], 'domain', undefined],
    [[], 'domain', undefined],
  ])('among %j by %j', (columns, name, index) => {
    expect(findColumn(columns, name)?.index).toBe(index);
  });

  it('by every name as a message shows it', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.constantFrom('\u00a0', '\r\n', '\t', '\u200b', '\ufeff', 'Company domain ', '…'),
    );
    const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(name, (name) => {
        expect(findColumn(['id', name], shorten(name))?.name).toBe(name);
      }),
      { numRuns: 30 },
    );
  });

  it('with the domains in it, of two with the name, and the other is told', () => {
    const columns = ['Website', 'Name', 'Website'];
    const rows = [
      ['', 'Acme', 'acme.com'],
      ['', 'Bolt', 'bolt.com'],
    ];
    const others = [{ index: 0, name: 'Website' }];
    expect(findColumn(columns, 'Website', rows)).toMatchObject({ index: 2, others });
  });
});
