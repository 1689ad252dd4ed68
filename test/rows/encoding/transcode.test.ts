import * as fc from 'fast-check';
import { encode } from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { findEncodingByName, WINDOWS_1252 } from '../../../src/rows/encoding/encodings.ts';
import { transcode } from '../../../src/rows/encoding/transcode.ts';
import { piecesOf } from '../sources.ts';

async function read(bytes: Buffer, name: string, chunkBytes: number): Promise<string> {
  const out: Buffer[] = [];
  const encoding = findEncodingByName(name) ?? WINDOWS_1252;
  const pieces = () => piecesOf(bytes, chunkBytes);
  for await (const chunk of transcode(pieces, { encoding, name: 'list.csv' })) out.push(chunk);
  return Buffer.concat(out).toString('utf8');
}

describe('transcode', () => {
  it.each(['utf-16le', 'utf-16be', 'utf-32le'])(
    'gives text of any script back, however it is cut: %s',
    async (name) => {
      const any = fc.string({ unit: 'grapheme' }); // no halves of pairs
      // Elsewhere than in UTF-16, it stands for bytes that are no character.
      const text = any.filter((text) => name.startsWith('utf-16') || !text.includes('\ufffd'));
      await fc.assert(
        fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (text, chunkBytes) => {
          expect(await read(encode(text, name), name, chunkBytes)).toBe(text);
        }),
        { numRuns: 100 },
      );
    },
  );

  it.each([
    ['windows-1252', 'Müller – 5 € “x”'],
    ['latin1', 'Müller\r\nÿ'],
    ['shift_jis', '株式会社日立,ﾄﾖﾀ\n'],
    ['gb18030', '中国工商银行\n'],
  ])('reads %s, however it is cut', async (name, text) => {
    for (const chunkBytes of [1, 2, 3, 5, 100]) {
      expect(await read(encode(text, name), name, chunkBytes)).toBe(text);
    }
  });

  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
  it.each([
    ['half of a pair', 'utf-16le', utf16('a\nb\n😀c\ud83d,x'), 3, 3],
    ['the other half', 'utf-16le', utf16('a\nbc\ude00'), 2, 3],
    ['half of a pair at the end', 'utf-16le', utf16('a\nbc\ud83d'), 2, 3],
    ['an odd byte at the end', 'utf-16le', Buffer.concat([utf16('a\nbc'), Buffer.from('x')]), 2, 3],
    ['an odd byte, big-endian', 'utf-16be', Buffer.from([0, 0x61, 0, 0x0a, 0]), 2, 1],
    ['a byte without a character', 'windows-1252', Buffer.from('a\r\nb\x81c', 'latin1'), 2, 2],
    ['half of a character', 'shift_jis', encode('a\n日本', 'shift_jis').subarray(0, -1), 2, 2],
  ])('names the place of %s, however it is cut', async (_, name, bytes, line, character) => {
    for (const chunkBytes of [1, 2, 3, 5, 100]) {
      await expect(read(bytes, name, chunkBytes)).rejects.toThrow(
        `Cannot read line ${line} of list.csv: its character ${character} is none in`,
      );
    }
  });

  it.each(['utf-16le', 'utf-16be'])(
    'refuses %s to which something else was appended',
    async (name) => {
      const head = encode('name,site\r\nA,acme.com\r\n', name);
      const rows = ['B,bolt.com\r\n', 'Bolt Aktiengesellschaft Muenchen,bolt.com '];
      for (const row of name === 'utf-16le' ? [...rows, 'Bo,bolt.com\n'] : rows) {
        const list = Buffer.concat([head, Buffer.from(row)]);
        await expect(read(list, name, 1_000)).rejects.toThrow(
          'Cannot read line 3 of list.csv: it is not in UTF-16, although the file begins so',
        );
      }
      const chinese = '名称,公司网址\n中国工商银行股份有限公司北京分行海淀支行,icbc.com\n'.repeat(
        50,
      );
      expect(await read(encode(chinese, name), name, 1_000)).toBe(chinese);
    },
  );

  it('takes a replacement character that stands in UTF-16 itself for text', async () => {
    expect(await read(utf16('a\ufffdb'), 'utf-16le', 3)).toBe('a\ufffdb');
  });
});
