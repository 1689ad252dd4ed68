import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createRowIndex, type IndexedRow } from '../../src/collector/row-index.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('an index gives back what was appended, in its order, as often as asked, and leaves no file', async () => {
  const folder = useTempFolder();
  const row = (at: number): IndexedRow => ({
    kind: (['due', 'known', 'invalid', 'passed', 'blank'] as const)[at % 5] ?? 'due',
    sizeBytes: at % 7 === 0 ? 2 ** 40 : at,
    fields: at * 3,
    text: ['acme.com', '', 'single_label', `${'x'.repeat(240)}.com`][at % 4] ?? '',
    isFirst: at % 11 === 0,
    ...(at % 3 === 0 && { key: at.toString(16) }),
  });
  const rows = Array.from({ length: 900 }, (_, at) => row(at));
  const index = await createRowIndex(folder);
  for (const batch of [rows.slice(0, 300), [], rows.slice(300)]) await index.append(batch);
  for (let reading = 0; reading < 2; reading += 1) {
    const read: IndexedRow[] = [];
    for await (const batch of index.read()) read.push(...batch);
    expect(read).toEqual(rows);
  }
  await index.close();
  expect(readdirSync(folder)).toEqual([]);
});
