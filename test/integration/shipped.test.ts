import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { shippedFolder } from './support/build.ts';
import { run, start } from './support/command.ts';
import { openList } from './support/lists.ts';

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
  const script = `console.log(typeof require(${JSON.stringify(join(shippedFolder(), 'index.js'))}).enrich)`;
  const args = ['--input-type=commonjs', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args); // none of it may await at its top
  expect(stdout).toBe('function\n');
});

it('the command of the package enriches a list by itself, and over a queue', async () => {
  const main = join(shippedFolder(), 'brandfill.js');
  const { url } = await useRedis();
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
  worker.process.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect(api.stats().calls).toBe(4);
});
