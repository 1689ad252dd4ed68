import { StringDecoder } from 'node:string_decoder';

/** A place in a text, for people: line and character count from 1. */
export interface Place {
  readonly line: number;
  /** The number of the character in its line. */
  readonly character: number;
}

/** The place behind a text. Lines end in a line feed, a carriage return, or both. */
export async function placeAfter(texts: AsyncIterable<string>): Promise<Place> {
  let line = 1;
  let character = 1;
  let endedInReturn = false;
  for await (const text of texts) {
    if (text === '') continue;
    let from = endedInReturn && text.startsWith('\n') ? 1 : 0;
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) {
      if (index < from) continue;
      from = index + end.length;
      line += 1;
      character = 1;
    }
    character += countCharacters(text, from);
    endedInReturn = text.endsWith('\r');
  }
  return { line, character };
}

/** The place of a byte of UTF-8. */
export async function placeOfByte(chunks: AsyncIterable<Buffer>, offset: number): Promise<Place> {
  return await placeAfter(decode(chunks, offset));
}

async function* decode(chunks: AsyncIterable<Buffer>, endBytes: number): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let left = endBytes;
  for await (const chunk of chunks) {
    yield decoder.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/** Counts characters. Those outside of the basic plane are two units of a text. */
function countCharacters(text: string, from: number): number {
  let count = 0;
  for (let at = from; at < text.length; at += 1) {
    if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count += 1;
  }
  return count;
}
