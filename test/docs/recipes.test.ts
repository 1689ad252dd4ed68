import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { builtCommand } from '../integration/support/build.ts';
import { ENVIRONMENT } from '../integration/support/command.ts';
import { openFolder } from '../integration/support/folder.ts';
import { findProgram } from '../support/find-program.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/recipes.md'), 'utf8');
const recipes = page
  .split(/^## /m)
  .map((part) => /^(.+)\n[^]*?```sh\n([^]*?)```/.exec(part))
  .flatMap((found) => (found ? [[found[1] ?? '', found[2] ?? ''] as const] : []));

it.each(recipes)('%s: its lines are those of a shell', (_, lines) => {
  execFileSync('bash', ['-n'], { input: lines });
});

const ACCOUNTS =
  "create table accounts (id text, website text); insert into accounts values ('1', 'https://www.acme.com/about'), ('2', 'n/a');";
/**
 * What is run with a database of its own, if it is there: how to make the table, and how to look at
 * the other.
 */
const TOOLS = {
  SQLite: ['sqlite3', ['crm.db'], ['crm.db']],
  DuckDB: ['duckdb', ['crm.duckdb', '-c'], ['crm.duckdb', '-csv', '-noheader', '-c']],
} as const;

describe.each(Object.entries(TOOLS))('%s', (name, [program, making, looking]) => {
  const isThere = findProgram([program]) !== undefined;
  if (!isThere) console.log(`The recipe of ${name} is left out: there is no ${program} here.`);

  it.runIf(isThere)('has the rows of a table enriched in another', async () => {
    const api = await openApi({ respond: (domain) => ({ body: { name: `About ${domain}` } }) });
    const folder = openFolder();
    mkdirSync(folder.at('bin'));
    folder.write(
      'bin/brandfill',
      `#!/bin/sh\nexec '${process.execPath}' '${builtCommand()}' "$@"\n`,
    );
    chmodSync(folder.at('bin/brandfill'), 0o755);
    execFileSync(program, [...making, ACCOUNTS], { cwd: folder.path });
    const PATH = `${folder.at('bin')}${delimiter}${process.env['PATH']}`;
    const lines = new Map(recipes).get(name) ?? '';
    await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', lines], {
      cwd: folder.path,
      env: { ...ENVIRONMENT, PATH, BRANDFILL_BASE_URL: api.url },
    });
    const rows = execFileSync(program, [...looking, 'select * from enriched order by id'], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    expect(rows).toMatch(/^1.*acme\.com.*found.*About acme\.com.*\n2.*n\/a.*invalid/);
  });
});
