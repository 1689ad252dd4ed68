import { describe, expect, it } from 'vitest';
import { chooseDomainColumn } from '../../src/producer/choose-column.ts';
import { makePlan } from '../../src/producer/plan.ts';
import type { IndexedRow } from '../../src/producer/row-index.ts';
import { createDomainReader } from '../../src/rows/domain/domain-reader.ts';
import { openRows } from '../../src/rows/open-rows.ts';
import { sourceOf } from '../rows/sources.ts';

async function plan(text: string, { known = [] as readonly string[], registrable = false } = {}) {
  const source = sourceOf(text);
  const format = openRows(source, { prefix: 'brand_' });
  const rows: IndexedRow[] = [];
  const again: string[] = [];
  const column = chooseDomainColumn(source, format, 'domain');
  const { planned: made, extent } = await makePlan({
    source,
    format,
    column,
    readDomain: createDomainReader({ column, registrable }),
    look: (domain) => (known.includes(domain) ? 'known' : 'due'),
    domainRows: { again: (domain) => void again.push(domain) },
    index: {
      append: async (batch) => void rows.push(...batch),
      end: async () => {},
    },
    signal: new AbortController().signal,
  });
  return { made, extent, rows, again };
}

describe('chooseDomainColumn', () => {
  it('says why a column whose name speaks for it was not taken', () => {
    const source = sourceOf('Name,Website\nAcme,n.a. yet\nBolt,-\nCora,cora\nDelta,delta.com\n');
    const format = openRows(source, { prefix: 'brand_' });
    expect(() => chooseDomainColumn(source, format, undefined)).toThrow(
      "there are: Name, Website; 1 of 3 cells of 'Website' hold a domain, such as acme.com, and 'n.a. yet' is none (contains_space).",
    );
  });
});

describe('makePlan', () => {
  it('counts rows, domains, what is fresh, what is invalid, and what is odd', async () => {
    const { made, extent, rows, again } = await plan(
      'domain,n\nacme.com,1\nwww.ACME.com,2\nbolt.com\nbolt.com\n\ncore.com,3,4\nn/a,5\n',
      { known: ['bolt.com'] },
    );
    expect(made).toEqual({
      rows: 6,
      uniqueDomains: 3,
      invalidRows: 1,
      invalidByReason: { empty: 1 },
      invalidExamples: [{ row: 6, reason: 'empty', cell: 'n/a' }],
      freshDomains: 1,
      freshRows: 2,
      lookups: 2,
      raggedRows: 3,
      shortRows: 2,
      blankLines: 1,
      blankRows: 0,
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
    expect(again).toEqual(['acme.com']);
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
      shortRows: 1,
      firstShiftedLine: 4,
    });
    expect(made.invalidExamples[0]).toEqual({
      row: 2,
      line: 4,
      reason: 'too_many_cells',
      cell: 'jo@agency.de',
    });
  });

  it('does not look up the rest of a row that a line end in a text has torn', async () => {
    const torn = await plan(
      'name,city,domain,partner\nAcme,Ulm,acme.com,x.com\nCora,Jena\nNord,cora.de,p.com\nDelta\nInc\n,Bonn,d.com,p.com\nE\n\nF,Kiel\nHolm,e.com,p.com\n',
    );
    expect(torn.rows.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'due acme.com',
      'invalid empty',
      'invalid torn_row',
      'invalid empty',
      'invalid empty',
      'due d.com',
      'invalid empty',
      'blank ',
      'invalid empty',
      'invalid torn_row',
    ]);
    expect(torn.made).toMatchObject({ shortRows: 7, firstShiftedLine: 4 });
    // Rows without the blank cells at their end.
    const short =
      'name,city,domain,a,b,c\nA,Ulm\nB,Bonn,b.com,1,2\nC,Jena\nD,Kiel,d.com\nE,Ulm,e.com\n';
    expect((await plan(short)).made).toMatchObject({ uniqueDomains: 3, shortRows: 5 });
  });

  it('takes domains of one registrable part for one, if asked to', async () => {
    const text = 'domain,n\na.acme.co.uk,1\nb.acme.co.uk,2\n';
    expect((await plan(text)).made.uniqueDomains).toBe(2);
    expect((await plan(text, { registrable: true })).made.uniqueDomains).toBe(1);
  });
});
