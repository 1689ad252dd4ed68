import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { withoutTimes } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { column, rowsOf } from './support/tables.ts';

describe('a flag of enrich', () => {
  it('--out and --failures name the two files', async () => {
    const folder = openList();
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', api.url, '--out', 'o.csv', '--failures', 'f.csv'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(0);
    expect(folder.names()).toEqual(['f.csv', 'list.csv', 'o.csv']);
    expect(column(rowsOf(folder.read('o.csv')), 'brand_status')).toEqual(['found', 'not_found']);
    expect(column(rowsOf(folder.read('f.csv')), 'name')).toEqual(['Bolt']);
  });

  it('--out - puts the rows, and nothing else, on standard output', async () => {
    const folder = openList();
    const api = await openScripted({});
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url, '--out', '-'], {
      cwd: folder.path,
    });
    expect(withoutTimes(ended.stdout)).toBe(
      'name,domain,brand_domain,brand_status,brand_fetched_at,brand_name\n' +
        'Acme,acme.com,acme.com,found,<time>,Acme\nBolt,bolt.com,bolt.com,found,<time>,Bolt\n',
    );
    expect(folder.names()).toEqual(['list.csv', 'list.failures.csv']);
  });

  it('--domain-column overrules the guess', async () => {
    const folder = openList('domain,Partner Site\nacme.com,bolt.com\n');
    const api = await openScripted({});
    await runHere(
      ['enrich', 'list.csv', '--base-url', api.url, '--domain-column', 'partner site'],
      {
        cwd: folder.path,
      },
    );
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_domain')).toEqual(['bolt.com']);
  });

  it('without --domain-column it is guessed, and said', async () => {
    const folder = openList('name,Company Domain Name\nAcme,acme.com\n');
    const api = await openScripted({});
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url], {
      cwd: folder.path,
    });
    expect(ended.stderr).toContain("domains are in column 'Company Domain Name' (guessed by name)");
    expect(api.callsOf('acme.com').calls).toBe(1);
  });

  it('--registrable reduces a domain to its registrable part', async () => {
    const folder = openList('domain\nshop.acme.co.uk\nwww.acme.co.uk\n');
    const api = await openScripted({});
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', api.url, '--registrable', '--json'],
      {
        cwd: folder.path,
      },
    );
    expect(summaryOf(ended).calls).toBe(1);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_domain')).toEqual([
      'acme.co.uk',
      'acme.co.uk',
    ]);
  });

  it('--fields takes JMESPath with commas in functions, filters, lists and quotes', async () => {
    const folder = openList('domain\nacme.com\n');
    const api = await openScripted({
      'acme.com': {
        body: { name: 'Acme', places: [{ c: 'Oslo', k: 'x,y' }, { c: 'Rom' }], tags: ['a', 'b'] },
      },
    });
    const fields = [
      'title=name',
      "tags=join(', ', tags)",
      "place=places[?k=='x,y'].c | [0]",
      'pair=[name, tags[0]]',
      'object={a: name, b: tags}',
      'nothing=missing',
      'two=length(tags)',
    ].join(',');
    await runHere(['enrich', 'list.csv', '--base-url', api.url, '--fields', fields], {
      cwd: folder.path,
    });
    expect(rowsOf(folder.read('list.enriched.csv'))).toEqual([
      {
        domain: 'acme.com',
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_title: 'Acme',
        brand_tags: 'a, b',
        brand_place: 'Oslo',
        brand_pair: 'Acme; a',
        brand_object: '{"a":"Acme","b":["a","b"]}',
        brand_nothing: '',
        brand_two: '2',
      },
    ]);
  });

  it('--prefix names the added columns, also with nothing at all', async () => {
    const folder = openList('site\nacme.com\n');
    const api = await openScripted({});
    const header = async (prefix: string): Promise<string | undefined> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--prefix', prefix, '--out', '-'];
      return (await runHere(args, { cwd: folder.path })).stdout.split('\n')[0];
    };
    expect(await header('x.')).toBe('site,x.domain,x.status,x.fetched_at,x.name');
    expect(await header('')).toBe('site,domain,status,fetched_at,name');
  });
});
