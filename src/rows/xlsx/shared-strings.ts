import { createXmlReader, textOf, unescapeCellText } from './xml.ts';

/** What all texts may take. A million rows with three of their own each take 60 MB. */
const MOST_CHARACTERS = 1_000_000_000;

/**
 * Reads the texts that cells refer to by number.
 *
 * @param part the part of the workbook that holds them
 * @throws RangeError when they are too large
 */
export async function readSharedStrings(part: AsyncIterable<Buffer>): Promise<readonly string[]> {
  const texts: string[] = [];
  let characters = 0;
  let text = '';
  let isText = false;
  let isPhonetic = false;
  const reader = createXmlReader({
    open: ({ local }) => {
      if (local === 'si') text = '';
      if (local === 'rPh') isPhonetic = true;
      isText = local === 't' && !isPhonetic;
    },
    text: (more) => {
      if (isText) text += more;
    },
    close: (local) => {
      if (local === 't') isText = false;
      if (local === 'rPh') isPhonetic = false;
      if (local !== 'si') return;
      characters += text.length;
      if (characters > MOST_CHARACTERS) throw new RangeError('its texts are larger than 1 GB');
      // A copy: a text that was cut out of a piece of the part would keep all of it in memory.
      texts.push(Buffer.from(unescapeCellText(text)).toString());
    },
  });
  for await (const chunk of textOf(part)) reader.write(chunk);
  reader.end();
  return texts;
}
