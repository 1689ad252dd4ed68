import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { shippedFolder } from './support/build.ts';
import { start } from './support/command.ts';
import { openList } from './support/folder.ts';

/**
 * The packages from which a command has loaded anything, as the engine's record of its scripts has
 * it.
 */
async function packagesOf(...args: readonly string[]): Promise<readonly string[]> {
  const folder = openList('domain\nacme.com\n');
  const { url } = await openApi();
  const running = await start(args, {
    cwd: folder.path,
    main: join(shippedFolder(), 'brandfill.js'),
    env: { NODE_V8_COVERAGE: join(folder.path, 'scripts'), BRANDFILL_BASE_URL: url },
  });
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  const names = new Set<string>();
  for (const file of readdirSync(join(folder.path, 'scripts'))) {
    const text = readFileSync(join(folder.path, 'scripts', file), 'utf8');
    const { result } = JSON.parse(text) as { readonly result: readonly { readonly url: string }[] };
    for (const { url: script } of result) {
      const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(script)?.[1];
      if (name !== undefined) names.add(name);
    }
  }
  return [...names];
}

/** Each takes a start longer than all of our own code. */
const HEAVY = ['bullmq', 'ioredis', 'luxon', 'yaml', 'undici', 'preact', 'uplot'];

describe('a start', () => {
  it.each([
    ['that prints the help', ['--help'], [...HEAVY, 'lmdb', 'tldts']],
    ['that prints the help of a command', ['enrich', '--help'], [...HEAVY, 'lmdb']],
    ['of a run that plans', ['enrich', 'list.csv', '--dry-run'], HEAVY],
    ['of a run that asks', ['enrich', 'list.csv'], HEAVY.filter((name) => name !== 'undici')],
  ])('%s loads no package that it has no use for', async (_, args, unused) => {
    const loaded = await packagesOf(...args);
    expect(loaded).toContain('.cache'); // where the bundle of the tests is
    expect(loaded.filter((name) => unused.includes(name))).toEqual([]);
  });

  it('is possible after each build: npm makes the command executable only when it links it', () => {
    expect(statSync(join(shippedFolder(), 'brandfill.js')).mode & 0o111).toBe(0o111);
  });
});

it('what the build imports comes with the package: a development dependency is not installed', () => {
  const files = readdirSync(shippedFolder()).filter((name) => name.endsWith('.js'));
  const code = files.map((name) => readFileSync(join(shippedFolder(), name), 'utf8')).join('\n');
  const specifiers = code.matchAll(
    /(?:\bfrom|\bimport|\bimport\(|\brequire\w*\()\s*["']([@\w][^"'\s]*)["']/g,
  );
  const imported = [...specifiers].flatMap(([, from = '']) =>
    isBuiltin(from) ? [] : nameOf(from),
  );
  expect(imported).toContain('cron-parser');
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  expect([...new Set(imported)].filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
});

function nameOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
