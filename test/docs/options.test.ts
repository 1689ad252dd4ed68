import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/commands.ts';
import { START_OPTIONS } from '../../src/commands/watch-run.ts';
import { metaOf, type Options } from '../../src/options/option.ts';
import { flagOf, OPTIONS } from '../../src/options/options.ts';
import { withParts } from './generated.ts';

test('docs/options.md lists options and exit codes', async () => {
  const file = join(import.meta.dirname, '../../docs/options.md');
  const exits = Object.entries(EXIT_CODES).map(([code, what]) => `| ${code} | ${what} |`);
  const parts = {
    options: tableOf({ ...OPTIONS, ...START_OPTIONS }),
    exits: ['| code | meaning |', '|---|---|', ...exits].join('\n'),
  };
  await expect(withParts(await readFile(file, 'utf8'), parts)).toMatchFileSnapshot(file);
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
