import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { meaningOf } from '../../src/brand/meaning.ts';
import { STOPS } from '../../src/calls/stops.ts';
import { START_OPTIONS } from '../../src/cli/commands/watch-run.ts';
import { EXIT_CODES } from '../../src/cli/commands.ts';
import { nameOutputColumns } from '../../src/collector/output/output-columns.ts';
import { metaOf, type Options } from '../../src/options/option.ts';
import { flagOf, inFlags, OPTIONS } from '../../src/options/options.ts';
import { withParts } from './generated.ts';

const exits = Object.entries(EXIT_CODES);
const stops = Object.entries(STOPS).map(([reason, { when }]) => [
  `\`${reason}\``,
  inFlags(when).replaceAll(/--[a-z-]+/g, '`$&`'),
]);

test.each<[string, Record<string, string>]>([
  [
    'options.md',
    {
      options: tableOf({ ...OPTIONS, ...START_OPTIONS }),
      exits: ['| code | meaning |', '|---|---|', ...exits.map(rowOf)].join('\n'),
    },
  ],
  ['answers.md', { stops: ['| reason | when |', '|---|---|', ...stops.map(rowOf)].join('\n') }],
])('docs/%s has the tables that follow from the code', async (name, parts) => {
  const file = join(import.meta.dirname, '../../docs', name);
  await expect(withParts(await readFile(file, 'utf8'), parts)).toMatchFileSnapshot(file);
});

test('docs/answers.md says what each status means that differs from its neighbours', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/answers.md'), 'utf8');
  // Not those that say what else must be the case.
  const rows = page.matchAll(/^\| (\d{3}(?:, \d{3})*)(?!,? (?:with|or) )\b[^|]*\|(.*)\|$/gm);
  const said = [...rows].flatMap(([, statuses = '', meaning = '']) => {
    const [word] = /\w+/.exec(meaning.replace('tried again', 'away')) ?? [];
    return statuses.split(', ').map((status) => [Number(status), word] as const);
  });
  expect(said).toEqual(said.map(([status]) => [status, meaningOf(status)]));
  const usual = ['', '', 'found', 'redirect', 'rejected', 'away'];
  const own = Array.from({ length: 400 }, (_, at) => 200 + at).filter(
    (status) => meaningOf(status) !== usual[Math.floor(status / 100)],
  );
  expect(said.map(([status]) => status)).toEqual(expect.arrayContaining(own));
});

const { out, failures, changes } = nameOutputColumns({
  prefix: 'brand_',
  enriched: [],
  taken: new Set(),
  hasChanges: true,
  isSeveral: true,
});
const columns = new Set([
  ...out.map(({ name }) => name),
  ...failures.map(({ name }) => name),
  ...changes,
]);

test.each([...columns])('docs say what stands in the column %s', async (name) => {
  const docs = join(import.meta.dirname, '../../docs');
  const pages = ['lists.md', 'nightly.md', 'several-apis.md'].map((page) => join(docs, page));
  const texts = await Promise.all(pages.map(async (page) => await readFile(page, 'utf8')));
  expect(texts.join('')).toContain(`\`${name}\``);
});

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

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
