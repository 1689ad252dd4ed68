import { linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseOutputPaths } from '../../../src/collector/output/output-paths.ts';
import { openText, sourceOf } from '../../rows/sources.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

async function choose(
  input: string,
  {
    out,
    failures,
    content = 'domain\n',
  }: { out?: string; failures?: string; content?: string } = {},
) {
  const stats = /^-$|^.(dev|proc)./.test(input)
    ? undefined
    : statSync(input, { throwIfNoEntry: false });
  const source = { ...sourceOf(content, { name: input }), file: stats };
  const format = openText(source);
  return await chooseOutputPaths({ input, out, failures, source, format });
}

describe('chooseOutputPaths', () => {
  it.each([
    ['/x/list.csv', '/x/list.enriched.csv', '/x/list.failures.csv'],
    ['/x/list.tsv.gz', '/x/list.enriched.tsv.gz', '/x/list.failures.tsv.gz'],
    ['/x/list', '/x/list.enriched.csv', '/x/list.failures.csv'],
    ['-', '-', 'stdin.failures.csv'],
    ['/dev/stdin', '-', 'stdin.failures.csv'],
    ['/dev/fd/63', '-', 'stdin.failures.csv'],
    ['/proc/self/fd/0', '-', 'stdin.failures.csv'],
    ['/dev/fd/list.csv', '/dev/fd/list.enriched.csv', '/dev/fd/list.failures.csv'],
  ])('names them beside %s', async (input, out, failures) => {
    expect(await choose(input)).toEqual({ out, failures });
  });

  it.each([
    ['/y/out.csv', '/y/out.failures.csv'],
    ['/y/leads.enriched.csv.gz', '/y/leads.failures.csv'],
    ['out', 'out.failures.csv'],
    ['/y/.enriched.csv', '/y/.enriched.failures.csv'],
    ['/dev/null', 'stdin.failures.csv'],
  ])('names failures after the output %s', async (out, failures) => {
    expect(await choose('-', { out })).toEqual({ out, failures });
  });

  it('names those of JSONL from standard input after what they are', async () => {
    expect(await choose('-', { content: '{}\n' })).toEqual({
      out: '-',
      failures: 'stdin.failures.jsonl',
    });
  });

  it.each([
    ['/x/list.xls', 'a,domain\n', '/x/list.enriched.csv', '/x/list.failures.csv'],
    ['/x/list.xls', 'a\tdomain\nb\tacme.com\n', '/x/list.enriched.tsv', '/x/list.failures.tsv'],
    ['/x/list.xlsx', 'a,domain\n', '/x/list.enriched.csv', '/x/list.failures.csv'],
    ['/x/list.html', '{"domain":"a"}', '/x/list.enriched.jsonl', '/x/list.failures.jsonl'],
    ['/x/list.txt', 'a\tdomain\nb\tacme.com\n', '/x/list.enriched.txt', '/x/list.failures.txt'],
  ])('names those of a text called %s after what it is', async (input, content, out, failures) => {
    expect(await choose(input, { content })).toEqual({ out, failures });
  });

  it('refuses the input itself, by any way that leads to it', async () => {
    const folder = useTempFolder();
    const input = join(folder, 'list.csv');
    writeFileSync(input, 'domain\n');
    symlinkSync('list.csv', join(folder, 'soft.csv'));
    linkSync(input, join(folder, 'hard.csv'));
    for (const name of ['list.csv', 'soft.csv', 'hard.csv']) {
      await expect(choose(input, { out: join(folder, name) })).rejects.toThrow(/the input itself/);
    }
  });

  it('refuses one place for both, by any way that leads to it', async () => {
    const folder = useTempFolder();
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    const at = (...path: string[]): string => join(folder, ...path);
    symlinkSync('real/o.csv', at('dangling.csv'));
    for (const [out, failures] of [
      [at('real', 'o.csv'), at('link', 'o.csv')],
      [at('o.csv'), `${folder}/real/../o.csv`],
      [at('dangling.csv'), at('real', 'o.csv')],
    ] as const) {
      await expect(choose('/x/list.csv', { out, failures })).rejects.toThrow(/both outputs/);
    }
  });

  it('refuses the name of another format', async () => {
    for (const out of ['/x/o.jsonl', '/x/o.json', '/x/o.parquet', '/x/o.xls', '/x/o.xlsx']) {
      await expect(choose('/x/list.csv', { out })).rejects.toThrow(/CSV like the input/);
    }
    const out = '/x/o.json';
    expect(await choose('/x/l.json', { out, content: '{}' })).toMatchObject({ out });
    await expect(choose('/x/l.jsonl', { out: '/x/o.csv.gz', content: '{}' })).rejects.toThrow(
      /JSONL/,
    );
    expect(await choose('/x/list.csv', { out: '/x/o.txt' })).toMatchObject({ out: '/x/o.txt' });
  });
});
