import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { flagOf } from '../../src/job/read-settings.ts';
import type { SettingDefinition } from '../../src/job/setting-definition.ts';
import { SETTINGS } from '../../src/job/settings.ts';

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
  '| `--token TOKEN` | `BRANDFILL_DASHBOARD_TOKEN` | | with `--listen`: what the dashboard asks for; on the command line others on this machine can see it |',
  '| `--dry-run` | | | read and count, show the plan, call nothing |',
  '| `--progress STYLE` | | `auto` | `bar`, `lines` or `none`, on standard error; `auto` is a bar on a terminal and lines elsewhere |',
  '| `--json` | | | put the summary (or the plan) on standard output, as JSON |',
  '| `--log-level LEVEL` | `BRANDFILL_LOG_LEVEL` | `info` | the least that is told, on standard error: `debug`, `info`, `warn` or `error` |',
  '| `--log-format FORMAT` | `BRANDFILL_LOG_FORMAT` | `auto` | `text`, lines for people, or `json`, an object on each line; `auto` is text, for a run without times and its id, but JSON where `NODE_ENV` is production and nobody sits at a terminal |',
];

function optionTable(): string {
  const rows = Object.entries<SettingDefinition<unknown>>(SETTINGS).map(([key, definition]) => {
    const flag = `\`${flagOf(key)}${definition.value ? ` ${definition.value}` : ''}\``;
    const env = definition.env ? `\`${definition.env}\`` : '';
    const standard = definition.default ? `\`${definition.default}\`` : '';
    const repeatable = definition.isRepeatable ? '; repeatable' : '';
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
