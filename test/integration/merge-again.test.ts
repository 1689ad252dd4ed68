import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { type Ended, summaryOf } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { expectRefusal } from './support/refusals.ts';

const SAMPLE = readFileSync(new URL('../../samples/crm-accounts.csv', import.meta.url), 'utf8');
const MERGE = ['a.failures.csv', '--merge', 'a.enriched.csv'];

interface Night {
  readonly folder: Folder;
  readonly api: Awaited<ReturnType<typeof openApi>>;
  enrich(...args: string[]): Promise<Ended>;
  correct(): void;
}

/** A list of accounts of which six rows hold no domain, after its first run. */
async function openNight(list = SAMPLE, ...flags: string[]): Promise<Night> {
  const folder = openFolder();
  folder.write('a.csv', list);
  const api = await openApi({ respond: () => ({ body: { name: 'N' } }) });
  const fixed = ['--fields', 'name=name', '--base-url', api.url, '--json'];
  const enrich: Night['enrich'] = (...args) =>
    runHere(['enrich', ...args, ...fixed], { cwd: folder.path });
  expect(await enrich('a.csv', ...flags)).toMatchObject({ code: 0 });
  const correct = (): void => {
    const failures = folder.read('a.failures.csv');
    const corrected = failures.replace('vehement.notarealtld', 'vehement.com');
    expect(corrected).not.toBe(failures);
    folder.write('a.failures.csv', corrected);
  };
  return { folder, api, enrich, correct };
}

function filesOf(folder: Folder): readonly string[] {
  return folder
    .names()
    .filter((name) => name.endsWith('.csv'))
    .map((name) => `${name}\n${folder.read(name)}`);
}

describe('a failures file of which nearly no row holds a domain', () => {
  it('is merged when one was corrected, and again when only the invalid ones are left', async () => {
    const { folder, enrich, correct } = await openNight();
    correct();
    const first = await enrich(...MERGE);
    expect(first).toMatchObject({ code: 0 });
    expect(summaryOf(first)).toMatchObject({ rows: 6, statuses: { found: 1, invalid: 5 } });
    expect(folder.read('a.enriched.csv')).toContain(',vehement.com,found,<time>,N');
    const before = filesOf(folder);
    const second = await enrich(...MERGE);
    expect(second).toMatchObject({ code: 3 });
    expect(summaryOf(second)).toMatchObject({ rows: 5, lookups: 0, statuses: { invalid: 5 } });
    expect(filesOf(folder)).toEqual(before);
  });

  it('is enriched as a list too', async () => {
    const { enrich, correct } = await openNight();
    const invalid = await enrich('a.failures.csv', '--out', 'x.csv', '--failures', 'y.csv');
    expect(invalid).toMatchObject({ code: 3 });
    expect(summaryOf(invalid)).toMatchObject({ rows: 6, lookups: 0, statuses: { invalid: 6 } });
    correct();
    const ended = await enrich('a.failures.csv', '--out', 'x.csv', '--failures', 'y.csv');
    expect(ended).toMatchObject({ code: 0 });
    expect(summaryOf(ended)).toMatchObject({ rows: 6, statuses: { found: 1, invalid: 5 } });
  });

  it('is enriched as a list when it has no rows, whatever its columns are called', async () => {
    const { folder, enrich } = await openNight('Firma,Ort\na.com,Ulm\nb.com,Ulm\n');
    expect(folder.read('a.failures.csv').split('\n')).toHaveLength(2);
    const ended = await enrich('a.failures.csv', '--out', 'x.csv', '--failures', 'y.csv');
    expect(ended).toMatchObject({ code: 0 });
    expect(summaryOf(ended)).toMatchObject({ rows: 0 });
  });

  it('is merged by the column that the run took, which no name tells', async () => {
    const rows = Array.from({ length: 9 }, (_, at) => `a${at}.com,acme\n`).join('');
    const { folder, enrich } = await openNight(`Firma,Ort\n${rows}n/a,x.com\nfoo,ulm.de\n`);
    folder.write('a.failures.csv', folder.read('a.failures.csv').replace('foo', 'foo.com'));
    const ended = await enrich(...MERGE);
    expect(ended).toMatchObject({ code: 0 });
    expect(folder.read('a.enriched.csv')).toContain('\nfoo,ulm.de,foo.com,found,<time>,N\n');
  });

  it('is merged by the column that the run took, against a name that it did not believe', async () => {
    const rows = Array.from({ length: 9 }, (_, at) => `sales,a${at}.com\n`).join('');
    const { folder, enrich } = await openNight(`Domain,Website\n${rows}sales,foo\n`);
    folder.write('a.failures.csv', folder.read('a.failures.csv').replace('foo', 'foo.com'));
    expect(await enrich(...MERGE)).toMatchObject({ code: 0 });
    expect(folder.read('a.enriched.csv')).toContain('\nsales,foo,foo.com,found,<time>,N\n');
  });

  it('is told of what is wrong with the file that it is merged into', async () => {
    const { folder, api, enrich } = await openNight();
    const before = filesOf(folder);
    const { calls } = api.stats();
    expectRefusal(
      await enrich('a.failures.csv', '--merge', 'no.csv'),
      /Cannot read no\.csv: there is no such file/,
    );
    expectRefusal(
      await enrich('a.failures.csv', '--merge', 'a.csv'),
      /Cannot merge into a\.csv: it has no column brand_domain/,
    );
    expect(filesOf(folder)).toEqual(before);
    expect(api.stats().calls).toBe(calls);
  });
});

describe('a merge of which the failures file stays', () => {
  it('changes nothing when it is done once more, also where a domain was corrected', async () => {
    const { folder, enrich, correct } = await openNight();
    correct();
    const args = [...MERGE, '--failures', 'rest.csv'];
    expect(await enrich(...args)).toMatchObject({ code: 0 });
    const before = filesOf(folder);
    expect(await enrich(...args)).toMatchObject({ code: 0 });
    expect(filesOf(folder)).toEqual(before);
  });

  it('can be done again when it was killed before the failures were in their place', async () => {
    const { folder, enrich, correct } = await openNight();
    correct();
    const corrected = folder.read('a.failures.csv');
    expect(await enrich(...MERGE)).toMatchObject({ code: 0 });
    const before = filesOf(folder);
    folder.write('a.failures.csv', corrected);
    expect(await enrich(...MERGE)).toMatchObject({ code: 0 });
    expect(filesOf(folder)).toEqual(before);
  });

  it('is refused where the place has neither the domain of then nor the corrected one', async () => {
    const { folder, enrich, correct } = await openNight();
    correct();
    const args = [...MERGE, '--failures', 'rest.csv'];
    expect(await enrich(...args)).toMatchObject({ code: 0 });
    const other = folder.read('a.enriched.csv').replace(',vehement.com,', ',other.com,');
    folder.write('a.enriched.csv', other);
    expectRefusal(await enrich(...args), /row 20 has the domain '' in the one and 'other\.com'/);
    expect(folder.read('a.enriched.csv')).toBe(other);
  });
});
