import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { open, row, workbookOf } from './workbooks.ts';

/** Rewrites a workbook with other rows in its only sheet. */
async function rewriteWith(read: () => AsyncIterable<Buffer>): Promise<AsyncGenerator<Buffer>> {
  const spec = { sheets: [{ name: 'S', rows: row(1, 'domain') + row(2, 'acme.com') }] };
  const { workbook } = (await open(await workbookOf(spec))).source;
  if (!workbook) throw new Error('it was opened as a workbook');
  const { layout } = createInPlaceWriter(workbook, { added: ['ours'], width: 1 });
  return rewriteWorkbook(workbook, { name: 'S', layout, read }, undefined);
}

describe('a workbook that is written', () => {
  it('ends with what went wrong with the rows that go into it', async () => {
    const bytes = await rewriteWith(async function* () {
      yield Buffer.from('<row/>');
      throw new Error('the rows are gone');
    });
    const taken = async (): Promise<void> => {
      for await (const chunk of bytes) expect(chunk.length).toBeGreaterThan(0);
    };
    await expect(taken()).rejects.toThrow('the rows are gone');
  });

  it('reads no more when nobody takes it any longer', async () => {
    let isReading = false;
    const bytes = await rewriteWith(async function* () {
      isReading = true;
      try {
        for (;;) yield randomBytes(64 * 1024);
      } finally {
        isReading = false;
      }
    });
    for await (const _ of bytes) if (isReading) break;
    expect(isReading).toBe(false);
  });
});
