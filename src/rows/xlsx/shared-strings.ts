import { createXmlReader, textOf, unescapeCellText } from './xml.ts';

/** Texts that cells refer to by number. */
export interface SharedStrings {
  /** Undefined when there is no text of this number. */
  find(index: number): string | undefined;
}

/** The memory that all texts may take. A million rows with three of their own each take 60 MB. */
const MOST_BYTES = 1_000_000_000;

/**
 * Reads all texts into bytes: a million separate texts would take several times the memory.
 *
 * @param part the part of the workbook that holds them
 * @throws RangeError when they are too large
 */
export async function readSharedStrings(part: AsyncIterable<Buffer>): Promise<SharedStrings> {
  let bytes = Buffer.alloc(64 * 1024);
  let ends = new Uint32Array(1_024);
  let count = 0;
  let end = 0;
  let text = '';
  let isText = false;
  let isPhonetic = false;

  function add(more: string): void {
    const most = end + 3 * more.length;
    if (end > MOST_BYTES) throw new RangeError(`its texts are larger than ${MOST_BYTES / 1e9} GB`);
    if (most > bytes.length) {
      const larger = Buffer.allocUnsafe(2 * most);
      bytes.copy(larger, 0, 0, end);
      bytes = larger;
    }
    if (count === ends.length) {
      const larger = new Uint32Array(2 * count);
      larger.set(ends);
      ends = larger;
    }
    end += bytes.write(more, end);
    ends[count] = end;
    count += 1;
  }

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
      if (local === 'si') add(unescapeCellText(text));
    },
  });
  for await (const chunk of textOf(part)) reader.write(chunk);
  reader.end();
  return {
    find: (index) => {
      if (!(index >= 0 && index < count)) return undefined;
      return bytes.toString('utf8', index === 0 ? 0 : ends[index - 1], ends[index]);
    },
  };
}
