import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Declaration } from '../../src/options/declaration.ts';
import { flagOf, nameOf, OPTIONS, type OptionKey } from '../../src/options/options.ts';

const project = join(import.meta.dirname, '../..');

/** The options that somebody needs in the first hour. */
const FIRST: readonly OptionKey[] = [
  'out',
  'failures',
  'report',
  'api',
  'baseUrl',
  'auth',
  'domainColumn',
  'fields',
  'rate',
  'maxCalls',
  'fresh',
  'store',
  'queue',
  'listen',
];

/** What only the command line has, in `src/cli/command.ts` and `src/cli/enrich.ts`. */
const CLI_ONLY = [
  '| `--token TOKEN` | `BRANDFILL_DASHBOARD_TOKEN` | | with `--listen`: token for the dashboard; others on this machine can see it on the command line |',
  '| `--dry-run` | | | read the list and show the plan; make no calls |',
  '| `--progress STYLE` | | `auto` | how to show progress, on standard error: `bar`, `lines` or `none`; `auto` is a bar on a terminal and lines elsewhere |',
  '| `--json` | | | print the summary (or the plan) to standard output as JSON |',
  '| `--log-level LEVEL` | `BRANDFILL_LOG_LEVEL` | `info` | least severe level to log, on standard error: `debug`, `info`, `warn` or `error` |',
  '| `--log-format FORMAT` | `BRANDFILL_LOG_FORMAT` | `auto` | `text` for people, or `json` with one object per line; `auto` is text (for a run, without times and its id), or JSON if `NODE_ENV` is production and standard error is not a terminal |',
];

const ALL = Object.keys(OPTIONS) as readonly OptionKey[];

test.each([
  ['docs/options.md', 'options', tableOf(ALL, CLI_ONLY)],
  ['README.md', 'first options', tableOf(FIRST)],
])(
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

function tableOf(keys: readonly OptionKey[], more: readonly string[] = []): string {
  const rows = keys.map((key) => {
    const { kind, description, env, default: standard }: Declaration = OPTIONS[key];
    const flag = `\`${flagOf(key)}${kind.placeholder ? ` ${kind.placeholder}` : ''}\``;
    const repeatable = kind.isRepeatable ? '; repeatable' : '';
    const cells = [flag, env && `\`${env}\``, standard && `\`${standard}\``];
    const row = `| ${cells.map((cell) => cell ?? '').join(' | ')} | ${description.replaceAll('<', '\\<')}${repeatable} |`;
    return row.replaceAll(/\| {2}(?=\|)/g, '| ');
  });
  return ['| option | environment | default | |', '|---|---|---|---|', ...rows, ...more].join('\n');
}
