import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { shippedFolder } from '../integration/support/build.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const page = await readFile(join(project, 'docs/library.md'), 'utf8');
const examples = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);

describe('docs/library.md', () => {
  let sandbox: Sandbox;
  let folder: string;

  beforeAll(async () => {
    sandbox = await startSandbox();
    // Inside the project, so that the examples find their types, which are those of the source;
    // what they run is `brandfill` as the package has it.
    folder = await mkdtemp(join(import.meta.dirname, '.examples-'));
    await cp(join(project, 'samples/crm-accounts.csv'), join(folder, 'accounts.csv'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const compilerOptions = { noEmit: true, paths: { brandfill: [join(project, 'src/index.ts')] } };
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(project, 'tsconfig.json'),
        compilerOptions,
        include: ['*.ts', join(project, 'src/rows/**/*.d.ts')],
      }),
    );
    await mkdir(join(folder, 'node_modules'));
    await symlink(dirname(shippedFolder()), join(folder, 'node_modules/brandfill'));
    const files = examples.map((_, at) => join(folder, `example-${at + 1}.ts`));
    for (const [at, file] of files.entries()) {
      await writeFile(file, examples[at]?.replaceAll('https://api.example.com', sandbox.url) ?? '');
    }
    await build({ input: files, external: /^[^./]/, output: { dir: folder } });
  });

  afterAll(async () => {
    await sandbox.close();
    await rm(folder, { recursive: true });
  });

  test('has an example for each way of use', () => {
    expect(examples).toHaveLength(7);
  });

  test('has examples that compile', async () => {
    const tsc = join(project, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch((error) => error);
    expect(stdout).toBe('');
  });

  test('has examples that run and print what they say', async () => {
    // One after the other, each below its number.
    const script = examples.map(
      (_, at) => `console.log('# ${at + 1}'); await import('./example-${at + 1}.js');`,
    );
    const args = ['--input-type=module', '--eval', script.join('\n')];
    const { stdout } = await run(process.execPath, args, { cwd: folder });
    const printed = stdout.split(/^# \d\n/m).slice(1);
    expect(printed).toEqual(EXPECTED.map((expected) => expect.stringMatching(expected)));
  });
});

/** What each example prints. */
const EXPECTED: readonly RegExp[] = [
  /^16 of 22 rows enriched, \d+ calls\nsee accounts\.enriched\.csv and accounts\.failures\.csv\n$/,
  /^1 acme\.com found .+\n2 {2}invalid undefined\n$/,
  /^\d+ calls to make\n(\d+ of \d+\n)*$/,
  /^16\n$/,
  /rows: 22/,
  /^found \{\n {2}name: 'Acme',[^]*\nbrand_name name Acme\n[^]*\nbrand_location_city location\.city /,
  /found: 1\d,[^]*\} 0\n$/,
];
