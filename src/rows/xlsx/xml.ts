import { SaxesParser, type SaxesTagPlain } from 'saxes';

/** A tag as it was read. */
export interface XmlTag {
  /** Without its prefix. */
  readonly local: string;
  /** `x:` of `<x:row>`; empty for none. */
  readonly prefix: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly isSelfClosing: boolean;
}

export interface XmlHandlers {
  /** @param end where the tag ends in the document, in characters */
  open?(tag: XmlTag, end: number): void;
  text?(text: string): void;
  close?(local: string, end: number): void;
}

/** Reads a document piece by piece. */
export interface XmlReader {
  /** @throws Error when it is not well-formed */
  write(text: string): void;
  end(): void;
}

/**
 * A cell holds 32,767 characters at most; this bounds the memory that one may take. In characters.
 */
const MOST_WITHOUT_TAG = 1_000_000;
/** Real documents have a dozen levels. */
const MOST_DEPTH = 256;

/**
 * Makes a reader of XML that knows only the entities of XML itself: a document that declares
 * entities is refused.
 */
export function createXmlReader(handlers: XmlHandlers): XmlReader {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let lastTag = 0;
  let depth = 0;
  parser.on('doctype', () => {
    throw new Error('it declares a document type, which no workbook does');
  });
  parser.on('opentag', (tag) => {
    lastTag = parser.position;
    depth += 1;
    if (depth > MOST_DEPTH) throw new Error(`its elements are nested ${MOST_DEPTH} deep and more`);
    handlers.open?.(toTag(tag), lastTag);
  });
  if (handlers.text) {
    parser.on('text', (text) => handlers.text?.(text));
    parser.on('cdata', (text) => handlers.text?.(text));
  }
  parser.on('closetag', ({ name }) => {
    lastTag = parser.position;
    depth -= 1;
    handlers.close?.(name.slice(name.indexOf(':') + 1), lastTag);
  });
  return {
    write: (text) => {
      parser.write(text);
      if (parser.position - lastTag > MOST_WITHOUT_TAG) {
        throw new Error('a text is longer than a million characters');
      }
    },
    end: () => {
      parser.close();
    },
  };
}

function toTag({ name, attributes, isSelfClosing }: SaxesTagPlain): XmlTag {
  const at = name.indexOf(':') + 1;
  return { local: name.slice(at), prefix: name.slice(0, at), attributes, isSelfClosing };
}

/** Turns the bytes of a part into text: UTF-8, or UTF-16 with or without a byte order mark. */
export async function* decodeXml(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let start: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (decoder) {
      yield decoder.decode(chunk, { stream: true });
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < 2) continue;
    decoder = decoderOf(start);
    yield decoder.decode(start, { stream: true });
  }
  yield decoder?.decode() ?? start.toString();
}

/** Turns the bytes of a part into UTF-8, which nearly all are in, with or without a byte order mark. */
export async function* utf8Of(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isUtf8 = false;
  for await (const chunk of chunks) {
    if (isUtf8) {
      yield chunk;
      continue;
    }
    start = decoder ? chunk : Buffer.concat([start, chunk]);
    if (start.length < 2) continue;
    decoder ??= decoderOf(start);
    isUtf8 = decoder.encoding === 'utf-8';
    yield isUtf8 ? start : Buffer.from(decoder.decode(start, { stream: true }));
  }
  yield decoder && !isUtf8 ? Buffer.from(decoder.decode()) : Buffer.alloc(0);
  if (!decoder) yield start;
}

/** A document begins with a mark, or with `<`, which tells the order of the bytes as well. */
const UTF16: Readonly<Record<string, string>> = {
  fffe: 'utf-16le',
  '3c00': 'utf-16le',
  feff: 'utf-16be',
  '003c': 'utf-16be',
};

function decoderOf(start: Buffer): InstanceType<typeof TextDecoder> {
  return new TextDecoder(UTF16[start.toString('hex', 0, 2)] ?? 'utf-8', { fatal: true });
}

/** The text of a part that was read whole, ready to be written again. */
export function decodeWhole(bytes: Buffer): string {
  return declareUtf8(decoderOf(bytes).decode(bytes));
}

/** Declares UTF-8, since a document that was UTF-16 is written as UTF-8. */
export function declareUtf8(xml: string): string {
  return xml.replace(/^(<\?xml[^>]*encoding\s*=\s*["'])[^"']*/, '$1UTF-8');
}

/** Reads a whole document. */
export function readXml(text: string, handlers: XmlHandlers): void {
  const reader = createXmlReader(handlers);
  reader.write(text);
  reader.end();
}

/** An attribute by its name without prefix, such as `id` of `r:id`. */
export function attributeOf(
  { attributes }: Pick<XmlTag, 'attributes'>,
  local: string,
): string | undefined {
  if (attributes[local] !== undefined) return attributes[local];
  const name = Object.keys(attributes).find((name) => name.endsWith(`:${local}`));
  return name === undefined ? undefined : attributes[name];
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** A text fit for XML, between tags and in attributes. */
export function escapeXml(text: string): string {
  return /[&<>"\r\n\t]/.test(text)
    ? text.replaceAll(/[&<>"\r\n\t]/g, (found) => ESCAPES[found] ?? '')
    : text;
}

// Texts in cells: characters that XML cannot hold are written as _xHHHH_. In a text that only looks
// like that, the underscore is written so too.

const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;
const UNHOLDABLE = /(?![\t\n\r\x7F-\x9F])\p{Cc}|[\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)/gu;
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Decodes a text from a cell. */
export function unescapeCellText(text: string): string {
  return text.includes('_x')
    ? text.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;
}

/** Most texts need no escaping. */
const SUSPECT = /[&<>"_]|[^\x20-\x7E\xA0-\uD7FF\uE000-\uFFFD]/;

/** Encodes a text for a cell. A lone surrogate becomes U+FFFD. */
export function escapeCellText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const holdable = text
    .replaceAll(UNHOLDABLE, (found) => `_x${found.charCodeAt(0).toString(16).padStart(4, '0')}_`)
    .replaceAll(LONE_SURROGATE, '\uFFFD');
  return escapeXml(holdable);
}

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
