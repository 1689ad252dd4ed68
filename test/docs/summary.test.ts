import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withParts } from './generated.ts';

const ROOT = join(import.meta.dirname, '../..');

test('docs/operations.md lists all members of a run', async () => {
  const file = join(ROOT, 'docs/operations.md');
  const page = await readFile(file, 'utf8');
  const source = await readFile(join(ROOT, 'src/watch/run-view.ts'), 'utf8');
  const rows = membersOf(source, 'RunView').map(({ name, type, about }) => {
    const parts = partsOf(source, type).map((part) => `\`${part}\``);
    const within = parts.length > 0 ? ` (${parts.join(', ')})` : '';
    return `|\`${name}\`${within}|${about}|`;
  });
  const summary = ['|member| |', '|---|---|', ...rows].join('\n');
  await expect(withParts(page, { summary })).toMatchFileSnapshot(file);
  expect(rows.length).toBeGreaterThan(40);
});

/** The members of an interface with what is said of each, which has to be something. */
function membersOf(source: string, of: string) {
  const [, body = ''] =
    new RegExp(`^export interface ${of} \\{\\n(.*?)^\\}`, 'ms').exec(source) ?? [];
  const said = String.raw`(?: {2}\/\*\*[\s*]+(?<about>.*?)\s+\*\/\n)?`;
  const member = new RegExp(String.raw`^${said} {2}(?<name>\w+)\??:\s*(?<type>.*?);$`, 'gms');
  return [...body.matchAll(member)].map(({ groups: { name = '', type = '', about = '' } = {} }) => {
    return { name, type, about: about.replaceAll(/\n\s+\* ?/g, ' ').replace(/\.$/, '') };
  });
}

/** The names of what a member holds, of each one where it holds several. */
function partsOf(source: string, type: string): readonly string[] {
  const [, inline] = /\{(.*?)\}/s.exec(type) ?? [];
  if (inline !== undefined) return [...inline.matchAll(/(\w+)\??:/g)].map(([, name = '']) => name);
  const [, named = ''] = /^(\w+)/.exec(type) ?? [];
  return membersOf(source, named).map(({ name }) => name);
}
