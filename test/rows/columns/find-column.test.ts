import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findColumn, looksLikeHeader } from '../../../src/rows/columns/domain-column.ts';
import { shorten } from '../../../src/rows/columns/names.ts';

const SEED = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
console.log(`find-column.test.ts: seed ${SEED} (BRANDFILL_TEST_SEED sets it)`);

describe('findColumn', () => {
  it('prefers the exact name to one in another case', () => {
    expect(findColumn(['Domain', 'domain'], 'domain')).toEqual({
      index: 1,
      name: 'domain',
      by: 'option',
      example: undefined,
    });
  });

  it('finds a name in another case, with white space or a byte order mark around it', () => {
    expect(findColumn(['id', ' Web Site '], 'web site')?.index).toBe(1);
    expect(findColumn(['\ufeffDomain'], ' domain')?.index).toBe(0);
  });

  it('finds every name as a message shows it', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.constantFrom('\u00a0', '\r\n', '\t', '\u200b', '\ufeff', 'Company domain ', '…'),
    );
    const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(name, (name) => {
        expect(findColumn(['id', name], shorten(name))?.name).toBe(name);
      }),
      { seed: SEED, numRuns: 30 },
    );
  });

  it('takes the one with domains of two columns with the name, and tells of the other', () => {
    const columns = ['Website', 'Name', 'Website'];
    const rows = [
      ['', 'Acme', 'acme.com'],
      ['', 'Bolt', 'bolt.com'],
    ];
    expect(findColumn(columns, 'Website', rows)).toMatchObject({
      index: 2,
      others: [{ index: 0, name: 'Website' }],
    });
    expect(findColumn(columns, 'Website')?.index).toBe(0);
  });

  it('finds nothing by a part of a name', () => {
    expect(findColumn(['company domain'], 'domain')).toBeUndefined();
    expect(findColumn([], 'domain')).toBeUndefined();
  });
});

describe('looksLikeHeader', () => {
  it('is so for names of columns', () => {
    expect(looksLikeHeader(['company', 'website', 'E-mail', ''])).toBe(true);
    expect(looksLikeHeader(['domain'])).toBe(true);
    expect(looksLikeHeader(['company.name', 'contact.email', 'account.owner.id'])).toBe(true);
  });

  it.each([
    'acme.com',
    'https://www.acme.com/x',
    'jane@acme.com',
    ' "ACME.com" ',
    'www.acme.website',
  ])('is not so with %j among them', (cell) => {
    expect(looksLikeHeader(['Acme', cell])).toBe(false);
    expect(looksLikeHeader([cell])).toBe(false);
  });

  it('is not so for the only cell of a row that could be a domain, like acme.company', () => {
    expect(looksLikeHeader(['acme.company'])).toBe(false);
  });

  it.each(['Booking.com', 'account.group', 'G2.com'])(
    'is so with %j over cells that are no domains, links into that site, or blank',
    (name) => {
      const names = ['Name', 'Website', name];
      for (const cell of ['yes', `https://www.${name}/hotel/acme`, '']) {
        const rows = [
          ['Acme', 'acme.com', cell],
          ['Bolt', 'bolt.com', cell],
        ];
        expect(looksLikeHeader(names, rows)).toBe(true);
      }
    },
  );

  it('is never so for the first row of a list without a header', () => {
    const domain = fc.domain().filter((one) => !looksLikeHeader([one]));
    const row = fc.tuple(
      fc.constantFrom('Acme', 'Bolt, Inc.', ''),
      domain,
      fc.constantFrom('Ulm', '1'),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(row, { minLength: 2, maxLength: 20, selector: siteOfRow }),
        (rows) => {
          fc.pre(
            !/\.(?:name|id|email|website|domains|company|site|host|contact|zip|phone|tel|city|country|page|link|date)$/i.test(
              rows[0]?.[1] ?? '',
            ),
          );
          expect(looksLikeHeader(rows[0] ?? [], rows.slice(1))).toBe(false);
        },
      ),
      { seed: SEED, numRuns: 30 },
    );
  });
});

function siteOfRow([, domain]: readonly string[]): string {
  return (domain ?? '').split('.').slice(-2).join('.').toLowerCase();
}
