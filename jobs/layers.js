// A rule of the linter: the folders of src know each other in one direction. Their order is that of
// the table under "The house" in docs/architecture.md, which is the only list of them.

import { readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const PROJECT = join(import.meta.dirname, '..');
const SOURCES = join(PROJECT, 'src');
const [, table = ''] = readFileSync(join(PROJECT, 'docs/architecture.md'), 'utf8').split(
  '\n## The house\n',
);
const ORDER = table
  .split('\n## ')[0]
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .flatMap((line) => [...line.split('|')[1].matchAll(/`src\/([\w.-]+)`/g)].map(([, name]) => name));

/** The folder of a file, or the file itself where it lies in none. */
function layerOf(path) {
  return relative(SOURCES, path).split(sep)[0];
}

function create(context) {
  const file = context.filename;
  const from = layerOf(file);
  const check = ({ source }) => {
    const text = source?.value;
    if (typeof text !== 'string' || !text.startsWith('.')) return;
    const to = layerOf(join(dirname(file), text));
    if (to === from || to === '..') return;
    const unknown = [from, to].find((name) => !ORDER.includes(name));
    if (unknown !== undefined) {
      const message = `src/${unknown} is missing in the table "The house" of docs/architecture.md: give it a row above all that use it.`;
      context.report({ node: source, message });
    } else if (ORDER.indexOf(to) > ORDER.indexOf(from)) {
      const message = `src/${from} must not know src/${to}, which lies below it in the table "The house" of docs/architecture.md: move what both need up, or let whoever knows both pass it.`;
      context.report({ node: source, message });
    }
  };
  return {
    ImportDeclaration: check,
    ExportNamedDeclaration: check,
    ExportAllDeclaration: check,
    ImportExpression: check,
    TSImportType: check,
  };
}

export default { meta: { name: 'layers' }, rules: { order: { create } } };
