import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkUtf8 } from '../../../src/rows/encoding/utf8.ts';
import { piecesOf } from '../sources.ts';

async function pass(bytes: Buffer, chunkBytes: number): Promise<Buffer> {
  const out: Buffer[] = [];
  const read = () => piecesOf(bytes, chunkBytes);
  for await (const chunk of checkUtf8(read, { name: 'list.csv', isInsisted: false }))
    out.push(chunk);
  return Buffer.concat(out);
}

describe('checkUtf8', () => {
  it('passes text of any script unchanged, however it is cut', async () => {
    const text = fc.array(
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('é', '日', '🏷️')),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (parts, chunkBytes) => {
        const bytes = Buffer.from(parts.join('\n'));
        expect(await pass(bytes, chunkBytes)).toEqual(bytes);
      }),
      { numRuns: 60 },
    );
  });

  it('names the place of the first byte that is none, however it is cut', async () => {
    const bytes = Buffer.concat([
      Buffer.from('日\r\n🏷ok\r'),
      Buffer.from('日K'),
      Buffer.from('öln\nx', 'latin1'),
    ]);
    for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes += 1) {
      await expect(pass(bytes, chunkBytes)).rejects.toThrow(
        /line 3 of list\.csv: its character 3 \(byte 0xF6\) is not UTF-8/,
      );
    }
  });

  it.each([
    ['a byte that no character has', Buffer.from([0x61, 0xff, 0x62]), 2, 'FF'],
    ['the middle of a character', Buffer.from([0x61, 0x62, 0x80]), 3, '80'],
    ['a character that is cut by another', Buffer.from([0xe6, 0x97, 0x61]), 1, 'E6'],
    ['half of a pair', Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]), 2, 'ED'],
    ['a character written too long', Buffer.from([0xc0, 0xaf, 0x62]), 1, 'C0'],
  ])('finds %s', async (_, bytes, character, byte) => {
    for (const chunkBytes of [1, 2, 10]) {
      await expect(pass(bytes, chunkBytes)).rejects.toThrow(
        `character ${character} (byte 0x${byte})`,
      );
    }
  });

  it('does not take a character that is cut off by the end of the file', async () => {
    const bytes = Buffer.from('a\nb🏷').subarray(0, -1);
    await expect(pass(bytes, 3)).rejects.toThrow(/line 2 of list\.csv: its character 2 /);
  });
});
