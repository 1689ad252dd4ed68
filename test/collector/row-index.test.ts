import { readdirSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRowIndex, type IndexedRow } from '../../src/collector/row-index.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const indexed: fc.Arbitrary<IndexedRow> = fc.record({
  kind: fc.constantFrom('due', 'known', 'invalid', 'blank'),
  sizeBytes: fc.integer({ min: 0, max: 2 ** 40 }),
  fields: fc.integer({ min: 0, max: 10_000 }),
  text: fc.constantFrom(
    '',
    'acme.com',
    'xn--bcher-kva.de',
    'single_label',
    `${'x'.repeat(240)}.com`,
  ),
});

describe('createRowIndex', () => {
  it('gives back what was appended, in its order, as often as asked, and leaves no file', async () => {
    const folder = useTempFolder();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(indexed, { maxLength: 300 }), { maxLength: 4 }),
        async (batches) => {
          const index = await createRowIndex(folder);
          for (const batch of batches) await index.append(batch);
          for (let reading = 0; reading < 2; reading += 1) {
            const rows: IndexedRow[] = [];
            for await (const batch of index.read()) rows.push(...batch);
            expect(rows).toEqual(batches.flat());
          }
          await index.close();
        },
      ),
      { numRuns: 20 },
    );
    expect(readdirSync(folder)).toEqual([]);
  });
});
