import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EnrichOptions, enrich } from '../../src/index.ts';
import { openApi } from '../integration/support/api.ts';
import { openFolder } from '../integration/support/folder.ts';

const ROOT = join(import.meta.dirname, '../..');

const page = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
const section = /^## The summary\n(.*?)^## /ms.exec(page)?.[1] ?? '';

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}

test('docs/operations.md names all members of a run, and no others', async () => {
  let isFirst = true;
  const sandbox = await openApi({
    logos: true,
    respond: () => {
      if (!isFirst) return undefined;
      isFirst = false;
      return { status: 202, headers: { 'retry-after': '7200' } };
    },
  });
  const folder = openFolder();
  const options: EnrichOptions = {
    input: join(ROOT, 'samples/crm-export.xlsx'),
    baseUrl: sandbox.url,
    out: folder.at('out.xlsx'),
    changes: folder.at('changes.csv'),
    report: [folder.at('run.json')],
    fields: { name: 'name' },
    fill: { Town: 'location.city' },
    logos: folder.at('logos'),
    logoField: 'logos[0].url',
    price: 0.01,
    maxCallsPer: '3/month',
    store: folder.at('store'),
  };
  const summary = await enrich(options);
  const [, table = ''] = /^\|---\|---\|\n((?:\|.*\n)+)/m.exec(section) ?? [];
  const named = table.split('\n').flatMap((line) => namesIn(line.split('|')[1] ?? ''));
  const there = Object.entries(summary).filter(([, value]) => value !== undefined);
  const ofOtherRuns = ['bill', 'schedule', 'queue', 'command', 'sampleOf'];
  expect(new Set(named)).toEqual(new Set([...there.map(([name]) => name), ...ofOtherRuns]));
});
