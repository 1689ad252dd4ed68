import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { reportJsonSchema } from '../report/json-schema.ts';

const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'docs/report.schema.json');
const PAGE = join(project, 'docs/report.md');

interface Member {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Member[];
  readonly properties?: Readonly<Record<string, Member>>;
  readonly items?: Member;
}

test('docs/report.schema.json is the schema of the code (UPDATE=1 writes it)', async () => {
  if (process.env['UPDATE'] === '1') {
    await writeFile(SCHEMA, JSON.stringify(reportJsonSchema()));
    const biome = join(project, 'node_modules/.bin/biome');
    await promisify(execFile)(biome, ['format', '--write', SCHEMA]);
  }
  expect(JSON.parse(await readFile(SCHEMA, 'utf8'))).toEqual(reportJsonSchema());
});

test('docs/report.md lists every member of the data with what it means (UPDATE=1 writes them)', async () => {
  const page = await readFile(PAGE, 'utf8');
  const expected = page.replace(
    /(<!-- members -->\n).*?(<!-- \/members -->)/s,
    (_, start: string, end: string) => `${start}${memberTable()}\n${end}`,
  );
  if (process.env['UPDATE'] === '1') await writeFile(PAGE, expected);
  else expect(page).toBe(expected);
});

function memberTable(): string {
  const rows = rowsOf(reportJsonSchema(), '');
  expect(rows.filter((row) => row.endsWith('| |'))).toEqual([]); // all have a description
  return ['| member | type | |', '|---|---|---|', ...rows].join('\n');
}

function rowsOf(member: Member, path: string): readonly string[] {
  const { properties, items } = innermost(member);
  if (items) return rowsOf(items, `${path}[]`);
  return Object.entries(properties ?? {}).flatMap(([name, inner]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const description = inner.description ?? '';
    const row = `| \`${place}\` | ${typeOf(inner)} | ${description} |`;
    return [row].concat(rowsOf(inner, place));
  });
}

/** Of what may be null, what it is otherwise. */
function innermost(member: Member): Member {
  return member.anyOf?.find(({ type }) => type !== 'null') ?? member;
}

function typeOf(member: Member): string {
  if (member.anyOf) return `${typeOf(innermost(member))} or null`;
  if (member.const !== undefined) return `\`${JSON.stringify(member.const)}\``;
  if (member.enum) return member.enum.map((value) => `\`${value}\``).join(', ');
  if (member.items) return `list of ${typeOf(member.items)}s`;
  return [member.type ?? []].flat().join(' or ');
}
