import { SaxesParser } from 'saxes';

/** A tag as it was read. It is the next one as soon as its handler has returned. */
export interface XmlTag {
  /** Without its prefix. */
  readonly local: string;
  /** `x:` of `<x:row>`; empty for none. */
  readonly prefix: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** How many elements are around it. */
  readonly depth: number;
  /** Where the tag before it ends, and where it ends itself, in characters. */
  readonly start: number;
  readonly end: number;
}

export interface XmlHandlers {
  open?(tag: XmlTag): void;
  text?(text: string): void;
  /** @param end where the element ends */
  close?(local: string, end: number): void;
}

/** What may be held of one element, in characters, so that no file takes all of the memory. */
const MOST_HELD = 64_000_000;

/** How deep elements may lie in each other. Those of workbooks lie ten deep or so. */
const MOST_DEPTH = 200;

/**
 * Makes a reader of a document that comes piece by piece. It knows only the entities of XML itself,
 * whatever a document declares.
 */
export function createXmlReader(handlers: XmlHandlers) {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  let lastTag = 0;
  let fed = 0;
  // One for all: there are millions of them in a sheet.
  const tag = { local: '', prefix: '', attributes: {}, depth: 0, start: 0, end: 0 };
  parser.on('opentag', ({ name, attributes }) => {
    const at = name.indexOf(':') + 1;
    tag.local = at === 0 ? name : name.slice(at);
    tag.prefix = at === 0 ? '' : name.slice(0, at);
    tag.attributes = attributes;
    tag.depth = depth;
    tag.start = lastTag;
    lastTag = parser.position;
    tag.end = lastTag;
    handlers.open?.(tag);
    depth += 1;
    if (depth > MOST_DEPTH) throw new Error(`elements lie more than ${MOST_DEPTH} deep in it`);
  });
  if (handlers.text) {
    const text = (text: string): void => handlers.text?.(text);
    parser.on('text', text);
    parser.on('cdata', text);
  }
  parser.on('closetag', ({ name }) => {
    lastTag = parser.position;
    depth -= 1;
    handlers.close?.(name.slice(name.indexOf(':') + 1), lastTag);
  });
  return {
    /** @throws Error when it is not well-formed */
    write: (text: string): void => {
      parser.write(text);
      fed += text.length;
      if (fed - lastTag > MOST_HELD + text.length) {
        throw new RangeError(`one of its texts is larger than ${MOST_HELD / 1e6} MB`);
      }
    },
    end: (): void => {
      parser.close();
    },
    /** Where the last tag ends, in characters. */
    get lastTag(): number {
      return lastTag;
    },
  };
}

/** Reads a whole document. */
export function readXml(text: string, handlers: XmlHandlers): void {
  const reader = createXmlReader(handlers);
  reader.write(text);
  reader.end();
}

/** Turns UTF-8 into text, mark included, so that it has the same length. */
export async function* textOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  decoder.decode();
}

/** The id of the relation that an element refers to: `r:id`, whatever its prefix. */
export function relationIn(attributes: XmlTag['attributes']): string | undefined {
  return Object.entries(attributes).find(([name]) => name.endsWith(':id'))?.[1];
}

/**
 * An opening tag with a new value of an attribute, which it may not have had; undefined for none.
 */
export function withAttribute(tag: string, name: string, value: string | undefined): string {
  const bare = tag.replace(new RegExp(`\\s${name}\\s*=\\s*(?:"[^"]*"|'[^']*')`), '');
  if (value === undefined) return bare;
  return bare.replace(/(?<!\s)\s*(\/?)>$/, ` ${name}="${value}"$1>`);
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
  return text.replaceAll(/[&<>"\r\n\t]/g, (found) => ESCAPES[found] ?? '');
}

// Texts in cells: characters that XML cannot hold are written as _xHHHH_. In a text that only looks
// like that, the underscore is written so too.

const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;
const UNHOLDABLE = /(?![\t\n\r\x7F-\x9F])\p{Cc}|[\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)/gu;

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
    .replaceAll(/\p{Cs}/gu, '\uFFFD');
  return escapeXml(holdable);
}
