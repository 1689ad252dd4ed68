import { describe, expect, it } from 'vitest';
import { findColumn, looksLikeHeader } from '../../../src/rows/columns/domain-column.ts';

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
});
