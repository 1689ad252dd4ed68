import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { open, type Parts, partsOf, row, zipOf } from './workbooks.ts';

const SHEETS = [{ name: 'S', rows: row(1, 'domain') + row(2, 'acme.com') }];

/** Rewrites a workbook with other rows in its only sheet. */
async function rewriteWith(
  read: () => AsyncIterable<Buffer>,
  parts: Parts = {},
): Promise<AsyncGenerator<Buffer>> {
  const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), ...parts });
  const { workbook } = (await open(bytes)).source;
  if (!workbook) throw new Error('it was opened as a workbook');
  const { layout } = createInPlaceWriter(workbook, { added: ['ours'], width: 1 });
  return rewriteWorkbook(workbook, { name: 'S', layout, read }, undefined);
}

async function takeAll(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of bytes) expect(chunk.length).toBeGreaterThan(0);
}

describe('a workbook that is written', () => {
  it('ends with what went wrong with the rows that go into it', async () => {
    const bytes = await rewriteWith(async function* () {
      yield Buffer.from('<row/>');
      throw new Error('the rows are gone');
    });
    await expect(takeAll(bytes)).rejects.toThrow('the rows are gone');
  });

  it.each([
    ['no XML', '<Types><Default'],
    ['no text', Buffer.from([0xff, 0x3c])],
  ])('is damaged when what lists its parts is %s', async (_, types) => {
    const rows = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('<row/>');
    };
    const bytes = await rewriteWith(rows, { '[Content_Types].xml': types });
    await expect(takeAll(bytes)).rejects.toThrow(/it is damaged, or no workbook/);
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
