import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN_FLAGS } from '../../src/options/command-options.ts';
import { metaOf, type Options } from '../../src/options/option.ts';
import { flagOf, OPTIONS } from '../../src/options/options.ts';

test('docs/options.md lists options with environment variable and default (UPDATE=1 writes them)', async () => {
  const file = join(import.meta.dirname, '../../docs/options.md');
  const page = await readFile(file, 'utf8');
  const table = `<!-- options -->\n${tableOf({ ...OPTIONS, ...RUN_FLAGS })}\n<!-- /options -->`;
  const expected = page.replace(/<!-- options -->.*<!-- \/options -->/s, () => table);
  if (process.env['UPDATE'] === '1') await writeFile(file, expected);
  else expect(page).toBe(expected);
});

function tableOf(options: Options): string {
  const rows = Object.entries(options).map(([key, one]) => {
    const { placeholder, help = '', env, default: standard, isRepeatable } = metaOf(one);
    const flag = `\`${flagOf(key)}${placeholder ? ` ${placeholder}` : ''}\``;
    const repeatable = isRepeatable ? '; repeatable' : '';
    const cells = [flag, env && `\`${env}\``, standard && `\`${standard}\``];
    const row = `| ${cells.map((cell) => cell ?? '').join(' | ')} | ${help.replaceAll('<', '\\<')}${repeatable} |`;
    return row.replaceAll(/\| {2}(?=\|)/g, '| ');
  });
  return ['| option | environment | default | |', '|---|---|---|---|', ...rows].join('\n');
}
