import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readSharedStrings } from '../../../src/rows/xlsx/shared-strings.ts';
import { seededRandom } from '../../support/random.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { piecesOf } from '../sources.ts';

const seed = Math.floor(seededRandom('shared-strings.test.ts').next() * 2 ** 31);

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

/** Forms of an item: of one format, of none, and of several, and what is refused. */
const forms: readonly ((text: string, mark: string) => string)[] = [
  (text, mark) => `<si>${mark}<t>${text}</t></si>`,
  (text, mark) => `<si>${mark}<t xml:space="preserve">${text}</t></si>\n`,
  (text, mark) => `<si>${mark}<r><t>${text}</t></r><rPh><t>no</t></rPh></si >`,
  (_, mark) => `<si>${mark}<t/></si><!-- <si><t>no</t></si> -->`,
];
const texts = ['', ' ', 'acme', 'a &amp; b', '&#65;', 'é', '_x0041_', 'a\r\nb', '\u{1F600}'];
const broken = ['&nope;', '\u0001', 'a]]>b', '\uFFFF', 'é\uFFFE'];

it('texts are found in bytes exactly as an XML reader does, or left to it', async () => {
  const spoolFolder = useTempFolder();
  const { signal } = new AbortController();
  const read = async (xml: string, pieceBytes: number): Promise<unknown> => {
    const pieces = piecesOf(Buffer.from(xml), pieceBytes);
    const strings = await readSharedStrings(pieces, { spoolFolder, signal }).catch(() => undefined);
    if (!strings) return 'refused';
    await strings.close();
    return Array.from({ length: strings.count }, (_, at) => strings.find(at));
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          text: fc.oneof(
            { weight: 40, arbitrary: fc.constantFrom(...texts) },
            { weight: 1, arbitrary: fc.constantFrom(...broken) },
          ),
          form: fc.constantFrom(0, 0, 0, 0, 1, 2, 3),
        }),
        { maxLength: 12 },
      ),
      fc.constantFrom('', 'x:'),
      fc.integer({ min: 1, max: 300 }),
      async (items, prefix, pieceBytes) => {
        const part = (mark: string): string =>
          `<sst count="1">${items.map(({ text, form }) => forms[form]?.(text, mark)).join('')}</sst>`.replaceAll(
            /<(\/?)(?=[a-zA-Z])/g,
            `<$1${prefix}`,
          );
        expect(await read(part(''), pieceBytes)).toEqual(await read(part('<!---->'), 100_000));
      },
    ),
    { seed, numRuns: 150 },
  );
});
