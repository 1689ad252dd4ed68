import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const project = join(import.meta.dirname, '../..');
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(project, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

test.each(pages)('%s names no file of the sources that is not there', (page) => {
  const text = readFileSync(join(project, page), 'utf8');
  const named = [...text.matchAll(/`((?:src|test|bench)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );
  expect(named.filter((path) => !existsSync(join(project, path)))).toEqual([]);
});

test('docs/architecture.md has a row for each folder of the sources', () => {
  const text = readFileSync(join(project, 'docs/architecture.md'), 'utf8');
  const folders = readdirSync(join(project, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `\`src/${name}\``);
  const rows = text.split('\n').filter((line) => line.startsWith('| `src/'));
  expect(folders.filter((folder) => !rows.some((row) => row.includes(folder)))).toEqual([]);
});

test('docs/architecture.md names no file that is nowhere, also where it leaves out the folder', () => {
  const text = readFileSync(join(project, 'docs/architecture.md'), 'utf8');
  const there = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' }),
  );
  const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path);
  const isThere = (path: string): boolean => there.some((file) => `/${file}`.endsWith(`/${path}`));
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !isThere(path.replace(/^(src|test)\//, '')))).toEqual([]);
});
