import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeDomain } from '../../../src/rows/domain/domain.ts';
import { anyCharacter } from '../../support/any-character.ts';

const HOST_NAME =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

const pieces = fc.constantFrom(
  ...'https:// // mailto: www. xn-- a ü 食 ß . .. 。 - _ @ : 8080 / \\ ? # %41 % [ ] < > "'.split(
    ' ',
  ),
  ...'1.2.3.4 ::1 example.com .co.uk .github.io .local .com com = , ; | ]( <a\u00a0href='.split(
    ' ',
  ),
  ...'HYPERLINK(" https://google.com/url?q= urldefense.com/v3/__ %25 \u2014 \u2764 \ufdfa'.split(
    ' ',
  ),
  ...' \u00a0\u200d\u0301\u05d0\ud800\0\u2100'.split(''),
);
const assembled = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
/** As `fc.webUrl`, which lists all characters of Unicode first. */
const urls = fc
  .tuple(
    fc.constantFrom('http://', 'https://'),
    fc.domain(),
    fc.array(
      fc.oneof(
        fc.constantFrom(..."/aZ09-._~:@!$&'()*+,;=".split('')),
        anyCharacter.map(encodeURIComponent),
      ),
    ),
  )
  .map(([scheme, host, path]) => `${scheme}${host}/${path.join('')}`);
const cells = fc.oneof(
  { weight: 4, arbitrary: assembled },
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: 'grapheme' }).map((text) => `${text}.com`),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  urls,
  fc.emailAddress(),
  fc.domain(),
);
const options = fc.record({ registrable: fc.boolean() });
const runs = { numRuns: 300 };

describe('normalizeDomain, for any text', () => {
  it('gives a host name of lower-case ASCII or a reason', () => {
    fc.assert(
      fc.property(cells, options, (cell, how) => {
        const result = normalizeDomain(cell, how);
        return 'domain' in result
          ? HOST_NAME.test(result.domain)
          : /^[a-z_]+$/.test(result.invalid);
      }),
      runs,
    );
  });

  it('gives its own result back unchanged', () => {
    fc.assert(
      fc.property(cells, options, (cell, how) => {
        const first = normalizeDomain(cell, how);
        if ('domain' in first) expect(normalizeDomain(first.domain, how)).toEqual(first);
      }),
      runs,
    );
  });

  it('reduces to an end of what it gives otherwise, and refuses the same', () => {
    fc.assert(
      fc.property(cells, (cell) => {
        const whole = normalizeDomain(cell);
        const reduced = normalizeDomain(cell, { registrable: true });
        if (!('domain' in whole)) expect(reduced).toEqual(whole);
        else
          expect('domain' in reduced && `.${whole.domain}`.endsWith(`.${reduced.domain}`)).toBe(
            true,
          );
      }),
      runs,
    );
  });
});

describe('normalizeDomain, for a cell of 300,000 characters', () => {
  const units = [
    ...'a ü \u00a0 / @ < > http:/ %41 a. : [ " \ufdfa \u200c , a.com, [a]( # %25 __http:/ http//'.split(
      ' ',
    ),
    ' ',
    ' http',
    '<a ',
    '<a href=',
    'HYPERLINK("',
    'https://google.com/url?q=',
  ];

  it.each(units)('comes to an end: %j', (unit) => {
    const cell = unit.repeat(Math.ceil(300_000 / unit.length));
    for (const text of [cell, `https://${cell}`, `a.com/${cell}`, `${cell}.com`, `x <${cell}>`]) {
      normalizeDomain(text); // else the test takes too long
    }
  });
});
