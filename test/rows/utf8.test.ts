import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteOrderMarkBytes, checkUtf8, refuseOtherEncodings } from '../../src/rows/utf8.ts';
import { piecesOf } from './sources.ts';

async function pass(bytes: Buffer, chunkBytes: number): Promise<Buffer> {
  const out: Buffer[] = [];
  for await (const chunk of checkUtf8(piecesOf(bytes, chunkBytes), 'list.csv')) out.push(chunk);
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

  it('names the line of the first byte that is none, however it is cut', async () => {
    const bytes = Buffer.concat([Buffer.from('日\nok\n'), Buffer.from('Köln\nx', 'latin1')]);
    for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes += 1) {
      await expect(pass(bytes, chunkBytes)).rejects.toThrow(/line 3 of list\.csv.*not UTF-8/);
    }
  });

  it('does not take a character that is cut off by the end of the file', async () => {
    const bytes = Buffer.from('a\nb🏷').subarray(0, -1);
    await expect(pass(bytes, 3)).rejects.toThrow(/line 2/);
  });
});

describe('refuseOtherEncodings', () => {
  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
  it.each([
    ['little', utf16('\uFEFFa,b')],
    ['little', utf16('domain,name\n')],
    ['big', utf16('\uFEFFa,b').swap16()],
    ['big', utf16('domain,name\n').swap16()],
  ])('names UTF-16 (%s-endian), with and without mark', (endian, bytes) => {
    expect(() => refuseOtherEncodings(bytes, 'list.csv')).toThrow(`UTF-16 (${endian}-endian)`);
  });

  it('lets UTF-8 pass, with its mark and with a stray NUL', () => {
    expect(() => refuseOtherEncodings(Buffer.from('\uFEFFa,b'), 'list.csv')).not.toThrow();
    expect(() => refuseOtherEncodings(Buffer.from('a,b,c\n\u0000,2,3'), 'list.csv')).not.toThrow();
    expect(byteOrderMarkBytes(Buffer.from('\uFEFFa'))).toBe(3);
    expect(byteOrderMarkBytes(Buffer.from('a'))).toBe(0);
  });
});
