import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface Manifest {
  readonly files: readonly string[];
}

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
  // docs/architecture.md leaves out the folder of the sources.
  const named = [...text.matchAll(/`((?:(?:src|test|bench)\/[\w./-]+)|[\w-]+\/[\w/-]+\.ts)`/g)];
  const isThere = (path: string): boolean =>
    ['', 'src'].some((folder) => existsSync(join(project, folder, path)));
  expect(named.map(([, path = '']) => path).filter((path) => !isThere(path))).toEqual([]);
});

test.each(pages)('%s has no link to a file that is not there, or that is not packed', (page) => {
  const text = readFileSync(join(project, page), 'utf8');
  const { files } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Manifest;
  const packed = [...files, 'README.md'].map((one) =>
    one.replaceAll('.', '\\.').replace('*', '[^/]+'),
  );
  const pattern = new RegExp(`^(${packed.join('|')})(/|$)`);
  const isPacked = (path: string): boolean => existsSync(join(project, path)) && pattern.test(path);
  const linked = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)/g)];
  const paths = linked.map(([, link = '']) => join(page, '..', link));
  expect(paths.filter((path) => !isPacked(path))).toEqual([]);
});

test('docs/architecture.md has a row for each folder of the sources', () => {
  const text = readFileSync(join(project, 'docs/architecture.md'), 'utf8');
  const folders = readdirSync(join(project, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `\`src/${name}\``);
  const rows = text.split('\n').filter((line) => line.startsWith('| `src/'));
  expect(folders.filter((folder) => !rows.some((row) => row.includes(folder)))).toEqual([]);
});
