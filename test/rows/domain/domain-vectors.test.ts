import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';
import { normalizeDomain } from '../../../src/rows/domain/domain.ts';

/** Other people's vectors and lists, which are not part of this project. */
const material = process.env['BRANDFILL_TEST_MATERIAL'];
const why = material === undefined ? ' (skipped: BRANDFILL_TEST_MATERIAL is not set)' : '';
if (why !== '') console.info(`Vectors and real lists of domains are not tested${why}`);

function linesOf(...path: readonly string[]): readonly string[] {
  const text = readFileSync(join(material ?? '', ...path), 'utf8');
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}

function resultOf(cell: string, registrable = false): string {
  const result = normalizeDomain(cell, { registrable });
  return 'domain' in result ? result.domain : `invalid: ${result.invalid}`;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

describe.skipIf(material === undefined)(`vectors of the Public Suffix List${why}`, () => {
  /** What is given instead of what the vectors say, on purpose. */
  const DIFFERENCES = new Map([
    // The list's default rule is `*`; here a top-level domain has to exist.
    ['example.example', 'invalid: unknown_tld'],
    ['b.example.example', 'invalid: unknown_tld'],
    ['a.b.example.example', 'invalid: unknown_tld'],
    // A private suffix is also the domain of the company that lends it out.
    ['uk.com', 'uk.com'],
  ]);

  /** Vectors that differ from the file, with what is given instead. */
  function differencesIn(vectors: readonly (readonly [string, string])[]): Map<string, string> {
    const differing = new Map<string, string>();
    for (const [source, registrable] of vectors) {
      const given = resultOf(source, true);
      const wanted = registrable === 'null' ? 'null' : domainToASCII(registrable);
      if ((given.startsWith('invalid') ? 'null' : given) !== wanted) differing.set(source, given);
    }
    return differing;
  }

  it('agree in the 78 of tests.txt but for the table of differences', () => {
    const vectors = linesOf('publicsuffix-list', 'tests.txt')
      .filter((line) => !line.startsWith('//'))
      .map((line) => line.split(' '))
      .map(([source = '', registrable = '']) => [source, registrable] as const);
    expect(vectors).toHaveLength(78);
    expect(differencesIn(vectors)).toEqual(DIFFERENCES);
  });

  it('agree in the 77 of test_psl.txt but for the table of differences', () => {
    const call = /^checkPublicSuffix\('([^']*)', (?:'([^']*)'|null)\);/;
    const vectors = linesOf('publicsuffix-list', 'test_psl.txt').flatMap((line) => {
      const [, source, registrable = 'null'] = call.exec(line) ?? [];
      return source === undefined ? [] : [[source, registrable] as const];
    });
    expect(vectors).toHaveLength(77);
    expect(differencesIn(vectors)).toEqual(DIFFERENCES);
  });
});

describe.skipIf(material === undefined)(`vectors of UTS #46${why}`, () => {
  /**
   * Code points disallowed in Unicode 15.0 that are valid, mapped or ignored by 17.0: ≠ ≮ ≯, the
   * capitals Ⴀ to Ⴭ, Ↄ and Ӏ, the Hangul filler, and the ideographs of Extension J.
   */
  const CHANGED_SINCE_15_0 =
    /[\u2260\u226e\u226f\u10a0-\u10cd\u2183\u04c0\u115f\u{323b0}-\u{33479}]/u;

  interface Vector {
    readonly source: string;
    readonly unicode: string;
    readonly ascii: string;
    /** codes of the errors, empty when valid */
    readonly errors: readonly string[];
  }

  function vectorOf(line: string): Vector {
    const [c1 = '', c2 = '', c3 = '', c4 = '', c5 = ''] = line
      .replace(/#.*/, '')
      .split(';')
      .map((column) => unescaped(column.trim()));
    const unicode = c2 === '' ? c1 : c2;
    const status = c5 === '' ? c3 : c5;
    const errors = status
      .replace(/[[\]]/g, '')
      .split(', ')
      .filter((code) => code !== '');
    return { source: c1, unicode, ascii: c4 === '' ? unicode : c4, errors };
  }

  function unescaped(text: string): string {
    return text.replace(/\\u([0-9A-F]{4})|\\x\{([0-9A-F]+)\}/gi, (_, short: string, long: string) =>
      String.fromCodePoint(Number.parseInt(short ?? long, 16)),
    );
  }

  /** Most vectors have no real top-level domain: each is tried as the subdomain of one. */
  function judge({ source, unicode, ascii, errors }: Vector): string {
    const given = resultOf(
      `https://${source}${/[.\u3002\uff0e\uff61]$/.test(source) ? '' : '.'}com/`,
    );
    const wanted = `${ascii}${ascii.endsWith('.') ? '' : '.'}com`.replace(/^(?:www\.)+/, '');
    if (errors.length === 0) {
      if (given === wanted) return 'valid, agreed';
      if (given.startsWith('invalid') && isOutsideIdna2008(source + unicode))
        return 'valid, but not in IDNA2008';
      return wanted.length > 253 ? 'valid, too long for a test' : `valid, differs: ${source}`;
    }
    if (given.startsWith('invalid')) return 'error, agreed';
    if (errors.every((code) => code === 'V2' || code === 'V3'))
      return 'error, but hyphens are free';
    const isNewer = errors.includes('V6') && CHANGED_SINCE_15_0.test(source + unicode);
    return isNewer
      ? 'error in 15.0, but not in newer Unicode'
      : `error, differs: ${source} ${errors.join()}`;
  }

  /** Symbols, numbers, punctuation and conjoining Jamo, with the letters that RFC 5892 takes out. */
  function isOutsideIdna2008(unicode: string): boolean {
    return /[^\p{ASCII}\p{L}\p{M}\p{Nd}\u200c\u200d]|[\u1100-\u11ff\ud7b0-\ud7fb]/u.test(unicode);
  }

  it('agree in IdnaTestV2 15.0.0 but for hyphens, signs that IDNA2008 has not, and newer Unicode', () => {
    const counts = new Map<string, number>();
    const lines = linesOf('unicode-idna', 'IdnaTestV2-15.0.0.txt');
    for (const line of lines) if (!line.startsWith('#')) add(counts, judge(vectorOf(line)));
    expect(Object.fromEntries(counts)).toEqual({
      'valid, agreed': 360,
      'valid, but not in IDNA2008': 61,
      'valid, too long for a test': 12,
      'error, agreed': 5752,
      'error, but hyphens are free': 19,
      'error in 15.0, but not in newer Unicode': 31,
    });
  });
});

describe.skipIf(material === undefined)(`real lists${why}`, () => {
  it('of 20,000 names in use hold domains, but for three bare public suffixes', () => {
    const refused: string[] = [];
    const changed: string[] = [];
    const names = ['opendns-random-domains.txt', 'opendns-top-domains.txt'].flatMap((file) =>
      linesOf('opendns-public-domain-lists', file),
    );
    for (const name of names) {
      const given = resultOf(name);
      if (given.startsWith('invalid')) refused.push(`${name} ${given}`);
      else if (given !== name) changed.push(name);
    }
    expect(names).toHaveLength(20_000);
    expect(refused).toEqual([
      'kh.ua. invalid: public_suffix',
      'rj.gov.br invalid: public_suffix',
      'sp.gov.br invalid: public_suffix',
    ]);
    expect(changed).toEqual([]);
  });

  it('of 500 companies have their domains in the column of websites', () => {
    const path = join(material ?? '', 'fortune500', 'fortune500_policy_urls.csv');
    const [header = [], ...cells]: string[][] = parse(readFileSync(path));
    const column = guessDomainColumn(header, cells);
    expect(column).toMatchObject({
      name: 'website',
      by: 'name',
      example: 'http://www.walmart.com',
    });
    const refused = cells
      .map((row) => row[column?.index ?? -1] ?? '')
      .filter((cell) => resultOf(cell).startsWith('invalid'));
    expect(refused).toEqual([]);
    expect(cells).toHaveLength(500);
  });
});
