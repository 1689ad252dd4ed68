import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findColumn, looksLikeHeader } from '../../../src/rows/columns/domain-column.ts';
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
    [['Acme', 'Ulm', 'www.acme.website'], below('cora.de'), false],
  ])('%j over %j: %j', (names, rows, expected) => {
    expect(looksLikeHeader(names, rows)).toBe(expected);
  });
});
