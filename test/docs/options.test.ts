import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN_FLAGS } from '../../src/options/command-options.ts';
import { metaOf, type Options } from '../../src/options/option.ts';
import { flagOf, nameOf, OPTIONS, type OptionKey } from '../../src/options/options.ts';

const project = join(import.meta.dirname, '../..');

const ALL = Object.keys(OPTIONS) as readonly OptionKey[];

test.each([['docs/options.md', 'options', tableOf({ ...OPTIONS, ...RUN_FLAGS })]])(
  '%s lists %s with environment variable and default (UPDATE=1 writes them)',
  async (name, of, table) => {
    const file = join(project, name);
    const page = await readFile(file, 'utf8');
    const expected = page.replace(
      new RegExp(`(<!-- ${of} -->\n).*?(<!-- /${of} -->)`, 's'),
      (_, start: string, end: string) => `${start}${table}\n${end}`,
    );
    expect(expected).toContain(table);
    if (process.env['UPDATE'] === '1') await writeFile(file, expected);
    else expect(page).toBe(expected);
  },
);

test('docs/options.md says how each option is called in programs', async () => {
  const page = await readFile(join(project, 'docs/options.md'), 'utf8');
  const renamed = ALL.filter((key) => nameOf(key) !== key);
  expect(renamed).toEqual(['params', 'headers']);
  expect(page).toContain('The library calls `--param` and `--header` `params` and `headers`.');
});

function tableOf(options: Options): string {
  const rows = Object.entries(options).map(([key, one]) => {
    const { placeholder, help, env, default: standard, isRepeatable } = metaOf(one);
    const flag = `\`${flagOf(key)}${placeholder ? ` ${placeholder}` : ''}\``;
    const repeatable = isRepeatable ? '; repeatable' : '';
    const cells = [flag, env && `\`${env}\``, standard && `\`${standard}\``];
    const row = `| ${cells.map((cell) => cell ?? '').join(' | ')} | ${help.replaceAll('<', '\\<')}${repeatable} |`;
    return row.replaceAll(/\| {2}(?=\|)/g, '| ');
  });
  return ['| option | environment | default | |', '|---|---|---|---|', ...rows].join('\n');
}
