import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/commands.ts';
import { START_OPTIONS } from '../../src/commands/watch-run.ts';
import { metaOf, type Options } from '../../src/options/option.ts';
import { flagOf, OPTIONS } from '../../src/options/options.ts';

test('docs/options.md lists options and exit codes (UPDATE=1 writes them)', async () => {
  const file = join(import.meta.dirname, '../../docs/options.md');
  const page = await readFile(file, 'utf8');
  const exits = Object.entries(EXIT_CODES).map(([code, what]) => `| ${code} | ${what} |`);
  const parts = {
    options: tableOf({ ...OPTIONS, ...START_OPTIONS }),
    exits: ['| code | meaning |', '|---|---|', ...exits].join('\n'),
  };
  let expected = page;
  for (const [name, table] of Object.entries(parts)) {
    const place = new RegExp(`(<!-- ${name} -->\n).*(<!-- /${name} -->)`, 's');
    expected = expected.replace(place, (_, start, end) => `${start}${table}\n${end}`);
  }
  if (process.env['UPDATE'] === '1') await writeFile(file, expected);
  else expect(page).toBe(expected);
});

function tableOf(options: Options): string {
  const rows = Object.entries(options).map(([key, one]) => {
    const { placeholder, help = '', env, default: standard, isRepeatable } = metaOf(one);
    const flag = `\`${flagOf(key)}${placeholder ? ` ${placeholder}` : ''}\``;
    const repeatable = isRepeatable ? '; repeatable' : '';
    const notes = [standard && `default: ${standard}`, env && `env: ${env}`].filter(Boolean);
    const note = notes.length > 0 ? ` (${notes.join(', ')})` : '';
    return `| ${flag} | ${help.replaceAll('<', '\\<')}${repeatable}${note} |`;
  });
  return ['| option | |', '|---|---|', ...rows].join('\n');
}
