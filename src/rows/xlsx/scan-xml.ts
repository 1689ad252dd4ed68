import { createXmlReader, type XmlHandlers } from './xml.ts';

/** A part with a long list of items, of which a scanner of bytes knows most. */
export interface ScannedPart<T> {
  readonly handlers: XmlHandlers;
  /** Gets each text that goes through the XML reader, before it does. */
  feed(text: string): void;
  /** Where what was read so far ends: before the list, in it, or behind it. */
  readonly place: 'before' | 'inside' | 'behind';
  /** How an item of the list ends; known once its beginning was read. */
  readonly closeTag: string;
  /** Whether the text that went through the XML reader ends with an item. */
  readonly isBehindItem: boolean;
  /** Takes all items that the scanner knows, from a place on. */
  scan(bytes: Buffer, at: number): ScanEnd;
  /** What was found since the last time. */
  take(): readonly T[];
}

export interface ScanEnd {
  readonly at: number;
  /** Whether more bytes are needed to go on; otherwise there is something that is not known. */
  readonly isIncomplete: boolean;
}

/**
 * Reads a part. The scanner finds the items that it knows in the bytes; what it does not know, and
 * what is around the list, goes through an XML reader, for which these items are cut out.
 *
 * @param chunks the part in UTF-8, piece by piece
 * @throws Error when it is damaged
 */
export async function* scanXml<T>(
  chunks: AsyncIterable<Buffer>,
  part: ScannedPart<T>,
): AsyncGenerator<readonly T[]> {
  const parser = createXmlReader(part.handlers);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isScanned = false;
  let mayBeScanned: boolean | undefined;
  let rest: Buffer[] = [];
  let restBytes = 0;
  /** A long item is looked at again only when twice as much of it is there. */
  let leastBytes = 0;

  function parse(bytes: Buffer): void {
    const text = decoder.decode(bytes, { stream: true });
    // XML 1.1 has other characters and line ends.
    mayBeScanned ??= !/^<\?xml[^>]*version\s*=\s*["']1\.[1-9]/.test(text);
    part.feed(text);
    parser.write(text);
  }

  /** @returns how much of the bytes was read */
  function read(bytes: Buffer, isLast: boolean): number {
    let at = 0;
    while (at < bytes.length) {
      if (isScanned) {
        const end = part.scan(bytes, at);
        at = end.at;
        if (end.isIncomplete && !isLast) return at;
        isScanned = false;
        continue;
      }
      // Up to each tag before the list, and to the end of each item that is not known in it.
      const { place } = part;
      const mark = place === 'before' ? '>' : place === 'inside' ? part.closeTag : '';
      const found = mark === '' ? -1 : bytes.indexOf(mark, at);
      const end = found === -1 ? bytes.length : found + mark.length;
      parse(bytes.subarray(at, end));
      at = end;
      const hasBegun = place === 'before' && part.place === 'inside';
      isScanned = mayBeScanned === true && found !== -1 && (hasBegun || part.isBehindItem);
    }
    return at;
  }

  for await (const chunk of chunks) {
    rest.push(chunk);
    restBytes += chunk.length;
    if (restBytes < leastBytes) continue;
    const bytes = rest.length > 1 ? Buffer.concat(rest) : chunk;
    const left = bytes.subarray(read(bytes, false));
    rest = [left];
    restBytes = left.length;
    leastBytes = left.length * 2;
    yield part.take();
  }
  read(Buffer.concat(rest), true);
  parser.write(decoder.decode());
  parser.end();
  yield part.take();
}
