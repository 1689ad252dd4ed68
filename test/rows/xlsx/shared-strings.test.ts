import { expect, it } from 'vitest';
import { readSharedStrings } from '../../../src/rows/xlsx/shared-strings.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { piecesOf } from '../sources.ts';

it.each([64_000_000, 2_000_000, 0])(
  'texts are found again when %d bytes of them may be in memory',
  async (memoryBytes) => {
    const texts = Array.from({ length: 3_000 }, (_, at) => `${at} ${'Größe 😀'.repeat(at % 200)}`);
    const xml = `<sst>${texts.map((text) => `<si><t>${text}</t></si>`).join('')}<si/></sst>`;
    const { signal } = new AbortController();
    const strings = await readSharedStrings(piecesOf(Buffer.from(xml), 65_537), {
      spoolFolder: useTempFolder(),
      signal,
      memoryBytes,
    });
    const found = texts.map((_, at) => strings.find(at));
    await strings.close();
    expect(found).toEqual(texts);
    expect(strings.find(texts.length)).toBe('');
    expect(strings.find(texts.length + 1)).toBeUndefined();
  },
);
