import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { enrichHere, run, runHere } from './support/command.ts';
import { cellsOf, domains, listOf, openList } from './support/folder.ts';

const body = (body: object): SandboxReply => ({ body });

/** Names of the enriched columns of an output, without prefix. */
function enrichedOf(csv: string): readonly string[] {
  const header = csv.slice(0, csv.indexOf('\n')).split(',');
  return header.slice(header.indexOf('brand_fetched_at') + 1).map((name) => name.slice(6));
}

describe('answers whose names are data', () => {
  /** As many new names in every answer. */
  const withNames = (count: number) => (domain: string) =>
    body({
      name: domain,
      ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`${domain} ${at}`, at])),
    });

  it('take memory for one of them, and make no columns', async () => {
    const { url } = await openApi({ respond: withNames(20_000) });
    const folder = openList(16);
    const flags = ['enrich', 'list.csv', '--base-url', url, '--concurrency', '2'];
    const place = { cwd: folder.path, env: { NODE_OPTIONS: '--max-old-space-size=80' } };
    const first = await run(flags, place);
    expect(first.code).toBe(0);
    const out = folder.read('list.enriched.csv');
    expect(enrichedOf(out)).toEqual(['json']);
    expect(out.match(/company-0\.com 19999/g)).toHaveLength(1);
    const again = await runHere(flags, { cwd: folder.path });
    expect([again.code, folder.read('list.enriched.csv') === out]).toEqual([0, true]);
  });
});

it('columns that were asked for are told where no answer has anything for them, as after a typing error', async () => {
  const folder = openList(5);
  const { url } = await openApi({
    respond: (domain) => body({ name: domain, at: { city: 'Oslo' }, tags: [] }),
  });
  const enrich = async (fields: string) =>
    (await enrichHere(folder, url, '--fields', fields)).stderr;
  expect(await enrich('name=name,city=city,tags=tags')).toContain(
    "Note: No answer has anything for 'brand_city' (city), 'brand_tags' (tags): blank in all 5 rows that were found; brandfill try shows what an answer has.\n",
  );
  expect(await enrich('name=name,city=at.city')).not.toContain('No answer');
  folder.write('list.csv', listOf(domains(4)));
  expect(await enrich('city=city')).not.toContain('No answer');
});

describe('--fields standard', () => {
  it('gives an API without a profile the standard columns by the names of its answers', async () => {
    const folder = openList(2);
    const { url } = await openApi({
      respond: (domain) =>
        body({
          title: domain,
          short_description: '',
          tagline: 'Things',
          category: { industry: 'Tools' },
          location: { city: 'Oslo', country: 'Norway', country_code: 'NO' },
          logos: [{ url: 'https://cdn.example/a.png' }],
          colors: ['#123456'],
          other: 1,
        }),
    });
    const { stderr } = await enrichHere(folder, url, '--fields', 'standard');
    const [header = [], first = []] = cellsOf(folder.read('list.enriched.csv'));
    const row = Object.fromEntries(header.map((name, at) => [name.slice(6), first[at]]));
    expect(row).toMatchObject({
      name: 'company-0.com',
      description: 'Things',
      industry: 'Tools',
      city: 'Oslo',
      country: 'Norway',
      country_code: 'NO',
      logo: 'https://cdn.example/a.png',
      color: '#123456',
      founded: '',
    });
    expect(row).not.toHaveProperty('other');
    expect(stderr).toContain(
      'Note: Of the standard columns the answers have brand_name, brand_description, brand_industry, brand_city, brand_country, brand_country_code, brand_logo, brand_color; nothing by a name that is known here for brand_employees, brand_founded, brand_linkedin, brand_website.',
    );
  });

  it('leaves out what a profile has beside them', async () => {
    const folder = openList(2);
    const { url } = await openApi({ respond: (domain) => body({ label: domain, slogan: 'x' }) });
    folder.write(
      'acme.yaml',
      `request: { baseUrl: "${url}" }\ncolumns: { name: label, slogan: slogan }\n`,
    );
    const flags = ['enrich', 'list.csv', '--api', 'acme.yaml', '--auth', 'none'];
    await runHere(flags, { cwd: folder.path });
    expect(enrichedOf(folder.read('list.enriched.csv'))).toEqual(['name', 'slogan']);
    await runHere([...flags, '--fields', 'standard'], { cwd: folder.path });
    expect(enrichedOf(folder.read('list.enriched.csv'))).toEqual(['name']);
    const checked = await runHere(['api', 'check', 'acme.yaml'], { cwd: folder.path });
    expect(checked.stdout).toContain('No standard column, so that no other API fills it: slogan.');
  });
});
