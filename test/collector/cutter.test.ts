import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCutter } from '../../src/collector/join.ts';
import { piecesOf } from '../rows/sources.ts';

describe('createCutter', () => {
  it('gives each piece as it was, wherever the stream is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 9 })),
        fc.integer({ min: 1, max: 12 }),
        async (pieces, chunkBytes) => {
          const cutter = createCutter(piecesOf(Buffer.from(pieces.join('')), chunkBytes));
          for (const piece of pieces) {
            expect(await cutter.take(Buffer.byteLength(piece))).toBe(Buffer.from(piece).toString());
          }
          expect(await cutter.take(5)).toBe('');
          await cutter.close();
        },
      ),
    );
  });

  it('closes the stream it reads', async () => {
    let isClosed = false;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.from('x');
      } finally {
        isClosed = true;
      }
    }
    const cutter = createCutter(endless());
    expect(await cutter.take(3)).toBe('xxx');
    await cutter.close();
    expect(isClosed).toBe(true);
  });
});
