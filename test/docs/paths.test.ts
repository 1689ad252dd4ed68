import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';

interface Manifest {
  readonly files: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
}

const project = join(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Manifest;
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
  const packed = [...manifest.files, 'README.md'].map((one) =>
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

describe.each(['CONTRIBUTING.md', 'docs/architecture.md'])(
  '%s names nothing that is not there:',
  (page) => {
    const text = readFileSync(join(project, page), 'utf8');
    const names = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
    const files = ['src', 'test'].flatMap((folder) =>
      readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    );

    test('files by their names alone', () => {
      const named = names.filter((name) => /^[\w-]+\.(?:tsx?|json)$/.test(name));
      const known = new Set(files.map((file) => basename(file)));
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    });

    test('symbols', () => {
      const named = names.filter((name) =>
        /^(?:[a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*|[A-Z]{4,})$/.test(name),
      );
      const sources = files.filter((file) => /^src.*\.tsx?$/.test(file));
      const code = sources.map((file) => readFileSync(join(project, file), 'utf8')).join('');
      const known = new Set(code.match(/\b[A-Za-z]\w+/g));
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    });

    test('scripts of npm', () => {
      const named = names.flatMap((name) => /^npm run ([\w:]+)/.exec(name)?.[1] ?? []);
      expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
    });
  },
);
