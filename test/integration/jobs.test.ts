import { execFile } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { shippedFolder } from './support/build.ts';
import { run, runHere, start, summaryOf } from './support/command.ts';
import { openFolder, openList } from './support/folder.ts';

const PROJECT = join(import.meta.dirname, '../..');
const JOBS = readdirSync(join(PROJECT, 'jobs')).filter((name) => name.endsWith('.yaml'));

describe('the job files of the project', () => {
  it('are one for each way of use', () => {
    expect(JOBS.sort()).toEqual(['backfill.yaml', 'nightly-crm.yaml', 'spreadsheet.yaml']);
  });

  it.each(JOBS)(
    '%s runs as it is against the sandbox, and costs nothing the second time',
    async (name) => {
      const api = await openApi();
      const folder = openFolder();
      for (const part of ['jobs', 'samples']) {
        cpSync(join(PROJECT, part), folder.at(part), { recursive: true });
      }
      const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
      const before = readdirSync(folder.at('samples'));
      const first = await runHere(['run', `jobs/${name}`, '--json'], options);
      expect(first.stderr).not.toContain('Note:');
      expect(first.code).toBe(0);
      expect(summaryOf(first).statuses.found).toBeGreaterThan(0);
      expect(folder.names().sort()).toEqual(['jobs', 'out', 'samples']);
      expect(folder.hasStore()).toBe(true);
      expect(readdirSync(folder.at('samples'))).toEqual(before);
      const second = await runHere(['run', `jobs/${name}`, '--json'], options);
      expect(summaryOf(second)).toMatchObject({ rows: summaryOf(first).rows, calls: 0 });
    },
  );

  it('what a file says makes no matter of what the environment says of the same', async () => {
    const folder = openList('domain\nacme.com\n');
    folder.write('job.yaml', 'input: list.csv\nbaseUrl: http://127.0.0.1:9\n');
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: 'ftp://x' } };
    const ended = await runHere(['run', 'job.yaml', '--dry-run'], options);
    expect(ended.code, ended.stderr).toBe(0);
  });
});

// The other tests start the same code packed together with the packages that it depends on.

it('each file of the package finds what it imports', async () => {
  const folder = shippedFolder();
  const modules = readdirSync(folder)
    .filter((name) => name.endsWith('.js') && name !== 'brandfill.js')
    .map((name) => pathToFileURL(join(folder, name)).href);
  expect(modules.length).toBeGreaterThan(20);
  const script = `await Promise.all(${JSON.stringify(modules)}.map((url) => import(url)));`;
  const args = ['--input-type=module', '--eval', `${script} process.exit();`];
  const { stderr } = await promisify(execFile)(process.execPath, args);
  expect(stderr).toBe('');
});

it('CommonJS gets the library by require', async () => {
  const path = JSON.stringify(join(shippedFolder(), 'index.js'));
  const args = ['--input-type=commonjs', '--eval', `console.log(typeof require(${path}).enrich)`];
  const { stdout } = await promisify(execFile)(process.execPath, args); // no top-level await
  expect(stdout).toBe('function\n');
});

it('the command of the package enriches a list by itself, and over a queue', async () => {
  const main = join(shippedFolder(), 'brandfill.js');
  const { url } = await useDatabase();
  const folder = openList();
  const api = await openApi();
  const options = { cwd: folder.path, main };
  const place = ['--base-url', api.url, '--fresh', '0'];
  const alone = await run(['enrich', 'list.csv', ...place], options);
  expect(alone.code, alone.stderr).toBe(0);
  const out = folder.read('list.enriched.csv');
  expect(out).toContain(',found,');
  const worker = await start(['worker', '--queue', url, '--base-url', api.url], options);
  const shared = ['--queue', url, '--workers', '0', '--out', 'shared.csv'];
  const queued = await run(['enrich', 'list.csv', ...place, ...shared], options);
  expect(queued.code, queued.stderr).toBe(0);
  expect(folder.read('shared.csv')).toBe(out);
  expect((await worker.stop()).code).toBe(0);
  expect(api.stats().calls).toBe(4);
});
