import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Declaration, flagOf, OPTIONS } from '../../src/options/options.ts';

const README = join(import.meta.dirname, '../../README.md');

test('the README lists every option with its environment variable and default (UPDATE=1 writes them)', async () => {
  const readme = await readFile(README, 'utf8');
  const expected = readme.replace(
    /(<!-- options -->\n).*?(<!-- \/options -->)/s,
    (_, start: string, end: string) => `${start}${optionTable()}\n${end}`,
  );
  if (process.env['UPDATE'] === '1') await writeFile(README, expected);
  else expect(readme).toBe(expected);
});

/** What only the command line has; in `src/cli/enrich.ts`. */
const CLI_ONLY = [
  '| `--token TOKEN` | `BRANDFILL_DASHBOARD_TOKEN` | | with `--listen`: token for the dashboard; others on this machine can see it on the command line |',
  '| `--dry-run` | | | read the list and show the plan; make no calls |',
  '| `--progress STYLE` | | `auto` | how to show progress, on standard error: `bar`, `lines` or `none`; `auto` is a bar on a terminal and lines elsewhere |',
  '| `--json` | | | print the summary (or the plan) to standard output as JSON |',
  '| `--log-level LEVEL` | `BRANDFILL_LOG_LEVEL` | `info` | least severe level to log, on standard error: `debug`, `info`, `warn` or `error` |',
  '| `--log-format FORMAT` | `BRANDFILL_LOG_FORMAT` | `auto` | `text` for people, or `json` with one object per line; `auto` is text (for a run, without times and its id), or JSON if `NODE_ENV` is production and standard error is not a terminal |',
];

function optionTable(): string {
  const rows = Object.entries<Declaration>(OPTIONS).map(([key, definition]) => {
    const { kind } = definition;
    const flag = `\`${flagOf(key)}${kind.placeholder ? ` ${kind.placeholder}` : ''}\``;
    const env = definition.env ? `\`${definition.env}\`` : '';
    const standard = definition.default ? `\`${definition.default}\`` : '';
    const repeatable = kind.isRepeatable ? '; repeatable' : '';
    const description = definition.description.replaceAll('<', '\\<');
    return `| ${flag} | ${env} | ${standard} | ${description}${repeatable} |`.replaceAll(
      /\| {2}(?=\|)/g,
      '| ',
    );
  });
  return ['| option | environment | default | |', '|---|---|---|---|', ...rows, ...CLI_ONLY].join(
    '\n',
  );
}
