import { expect, it } from 'vitest';
import { otherDomainIn } from '../../../src/collector/fields/answered-domain.ts';
import { createPathFinder } from '../../../src/collector/fields/enriched-columns.ts';

it.each([
  ['acme.com', undefined],
  ['ACME.com', undefined],
  ['www.acme.com', undefined],
  ['https://www.Acme.com/about?x', undefined],
  ['', undefined],
  [null, undefined],
  [7, undefined],
  ['acme.io', 'acme.io'],
  ['https://acme.io/', 'https://acme.io/'],
  ['shop.acme.com', 'shop.acme.com'],
])('an answer about acme.com with the domain %j is about %j', (domain, other) => {
  expect(otherDomainIn({ domain }, 'acme.com')).toBe(other);
});

it('a name in letters is that in Punycode', () => {
  expect(otherDomainIn({ domain: 'bücher.de' }, 'xn--bcher-kva.de')).toBeUndefined();
});

it.each([
  [['acme.com', 'www.acme.com'], [['name']]],
  [
    ['acme.com', 'acme.io'],
    [['name'], ['domain']],
  ],
])('with the domains %j the answers have the columns %j', (named, paths) => {
  const finder = createPathFinder();
  for (const [row, domain] of named.entries()) {
    finder.see(JSON.stringify({ domain, name: 'Acme' }), row, 'acme.com');
  }
  expect(finder.found().paths).toEqual(paths);
});
