import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { rowsOf } from './support/tables.ts';

const PRESET = 'Name: name\nPost code: at."zip-code"\n';
const BODY = { body: { name: 'A', at: { 'zip-code': '010' } } };
const ROW = { brand_Name: 'A', 'brand_Post code': '010' };

describe('--fields @FILE', () => {
  it('takes the columns from a file, in its order', async () => {
    const { url } = await openScripted({ 'a.com': BODY });
    const folder = openFolder();
    folder.write('list.csv', 'domain\na.com\n');
    folder.write('brand.yaml', PRESET);
    const flags = ['--base-url', url, '--fields', '@brand.yaml'];
    expect(await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path })).toMatchObject({
      code: 0,
    });
    expect(rowsOf(folder.read('list.enriched.csv'))).toEqual([
      {
        domain: 'a.com',
        brand_domain: 'a.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        ...ROW,
      },
    ]);
  });

  it('is beside the job file that names it', async () => {
    const { url } = await openScripted({ 'a.com': BODY });
    const folder = openFolder();
    mkdirSync(folder.at('jobs'));
    folder.write('jobs/list.csv', 'domain\na.com\n');
    folder.write('jobs/brand.yaml', PRESET);
    folder.write('jobs/night.yaml', `input: list.csv\nbaseUrl: ${url}\nfields: '@brand.yaml'\n`);
    const ended = await runHere(['run', 'jobs/night.yaml'], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 0 });
    expect(rowsOf(folder.read('jobs/list.enriched.csv'))).toMatchObject([ROW]);
    folder.write('jobs/brand.yaml', 'n: name\nc: at..city\n');
    const { code, stderr } = await runHere(['run', 'jobs/night.yaml'], { cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: [
        "brandfill: Cannot use jobs/night.yaml:3:9: fields: jobs/brand.yaml:2:7: the expression of 'c' is no JMESPath: '.' is not expected here.",
        '  at..city',
        '     ^',
        '',
      ].join('\n'),
    });
  });

  it('with a wrong expression ends before the first call, and shows where', async () => {
    const api = await openScripted({});
    const folder = openFolder();
    folder.write('list.csv', 'domain\na.com\n');
    folder.write('brand.yaml', 'n: name\nc: "at..city"\n');
    const flags = ['--base-url', api.url, '--fields', '@brand.yaml'];
    const { code, stderr } = await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: [
        "brandfill: Cannot use --fields: brand.yaml:2:8: the expression of 'c' is no JMESPath: '.' is not expected here.",
        '  at..city',
        '     ^',
        '',
      ].join('\n'),
    });
    expect([api.stats().calls, folder.names()]).toEqual([0, ['brand.yaml', 'list.csv']]);
  });

  it('that is not there is refused', async () => {
    const folder = openFolder();
    folder.write('list.csv', 'domain\na.com\n');
    const flags = ['--base-url', 'http://127.0.0.1:1', '--fields', '@no.yaml'];
    const { code, stderr } = await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'brandfill: Cannot use --fields: cannot read the preset no.yaml: there is no such file or folder.\n',
    });
  });
});
