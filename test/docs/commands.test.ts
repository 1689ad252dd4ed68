import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { addOptions } from '../../src/cli/options.ts';
import { readOptions } from '../../src/options/option.ts';

const project = join(import.meta.dirname, '../..');
const pages = ['README.md', ...readdirSync(join(project, 'docs')).map((name) => `docs/${name}`)];

/** Each command that a page shows. */
const shown = pages
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(project, name), 'utf8'))
  .flatMap((text) => Array.from(text.matchAll(/(?:npx |^\$ |`)brandfill ([a-z][^`\n]*)/gm)))
  .map(([, line = '']) => line.replace(/\s+(?:[#|&>]|--help).*$/, ''));

it.each([...new Set(shown)])('brandfill %s: its flags and their values are right', async (line) => {
  const words = line.match(/(?:'[^']*'|[^\s'])+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
  const listed = COMMANDS.findLast(({ name }) => `${words.join(' ')} `.startsWith(`${name} `));
  if (!listed?.load) throw new Error(`There is no command ${words[0]}`);
  const { options } = await listed.load();
  const command = new Command().exitOverride().argument('[words...]');
  addOptions(command, options);
  command.parse(words, { from: 'user' });
  // A line about a command need not show what it does not run without.
  const given = { queue: 'redis://h', baseUrl: 'http://h', olderThan: '1d', ...command.opts() };
  const known = Object.entries(given).filter(([key]) => key in options);
  const settings = readOptions(listed.name, options, { given: Object.fromEntries(known), env: {} });
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(Object.keys(command.opts())));
});
