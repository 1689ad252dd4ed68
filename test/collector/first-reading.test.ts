import { describe, expect, it } from 'vitest';
import { chooseDomainColumn } from '../../src/collector/choose-column.ts';
import { makePlan } from '../../src/collector/first-reading.ts';
import type { IndexedRow } from '../../src/collector/row-index.ts';
import { createDomainReader } from '../../src/rows/domain/domain.ts';
import { openText, sourceOf } from '../rows/sources.ts';

async function plan(text: string, { known = [] as readonly string[], registrable = false } = {}) {
  const source = sourceOf(text);
  const format = openText(source);
  const rows: IndexedRow[] = [];
  const column = chooseDomainColumn(source, format, 'domain');
  const {
    planned: made,
    domains,
    extent,
  } = await makePlan({
    source,
    format,
    column,
    readDomain: createDomainReader({ column, registrable }),
    kindOf: (domain) => (known.includes(domain) ? 'known' : 'due'),
    index: {
      append: async (batch) => void rows.push(...batch),
    },
    signal: new AbortController().signal,
  });
  return { made, extent, rows, domains };
}

describe('chooseDomainColumn', () => {
  it.each(
    Object.entries({
      'Name,Website\nAcme,n.a. yet\nBolt,-\nCora,cora\nDelta,delta.com\n':
        "there are: Name, Website; 1 of 3 cells of 'Website' hold a domain, and 'n.a. yet' is none; if that is a title",
      'Name,map_url,logo,Old site\na,http://m.io/1,a.com/1.png,a.com\nb,http://m.io/2,b.com/2.png,b.com\nc,http://m.io/3,c.com/3.png,c.com\n':
        "; the name of 'map_url' (such as 'http://m.io/1') speaks against it; the name of 'logo' (such as 'a.com/1.png') speaks against it; the name of 'Old site' (such as 'a.com') speaks against it",
      'Name,url\na,http://m.io/1\nb,http://m.io/2\nc,http://m.io/3\n':
        "; all of 'url' (such as 'http://m.io/1') leads to one site",
      '"id,Website"\n"1,Acme,acme.com"\n': 'each line seems to be in quotes as a whole',
    }),
  )('says why it took none: %j', (text, expected) => {
    const source = sourceOf(text);
    const format = openText(source);
    expect(() => chooseDomainColumn(source, format, undefined)).toThrow(expected);
  });
});

describe('makePlan', () => {
  it.each([
    ['domain\na.com/x\nwww.a.com/y\n\nn/a\na.com\n', 'a.com'],
    ['domain\na.com\na.com\n', undefined],
    ['domain\na.com\na.com\na.com\nb.com\n', undefined],
  ])('sees that all rows of %j lead to one site', async (text, site) => {
    expect((await plan(text)).made.oneSite).toBe(site);
  });

  it('counts rows, domains, what is fresh, what is invalid, and what is odd', async () => {
    const { made, extent, rows, domains } = await plan(
      'domain,n\nacme.com,1\nwww.ACME.com,2\nbolt.com\nbolt.com\n\ncore.com,3,4\nn/a,5\n',
      { known: ['bolt.com'] },
    );
    expect(made).toEqual({
      rows: 6,
      uniqueDomains: 3,
      invalidRows: 1,
      invalidByReason: { empty: 1 },
      invalidExamples: [{ row: 6, line: 8, reason: 'empty', cell: 'n/a' }],
      freshDomains: 1,
      freshRows: 2,
      lookups: 2,
      raggedRows: 3,
    });
    expect(extent).toEqual({ maxFields: 3 });
    expect(rows.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'due acme.com',
      'due acme.com',
      'known bolt.com',
      'known bolt.com',
      'blank ',
      'due core.com',
      'invalid empty',
    ]);
    expect(['acme.com', 'bolt.com', 'core.com', 'n/a'].map(domains.of)).toEqual([2, 2, 1, 0]);
  });

  it('does not look up a row whose cells are shifted, and names the line of the first', async () => {
    const { made, rows } = await plan(
      'name,contact,domain\n"A\nB",a@acme.com,acme.com\nBolt, Inc.,jo@agency.de,bolt.com\nCora\n“D, E”,d@agency.de,d.com\n',
    );
    expect(rows.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'due acme.com',
      'invalid too_many_cells',
      'invalid empty',
      'invalid too_many_cells',
    ]);
    expect(made).toMatchObject({
      uniqueDomains: 1,
      raggedRows: 3,
      firstShiftedLine: 4,
    });
    expect(made.invalidExamples[0]).toEqual({
      row: 2,
      line: 4,
      reason: 'too_many_cells',
      cell: 'jo@agency.de',
    });
  });
});
