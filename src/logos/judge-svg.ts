import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { isEmbeddedPicture, isSafeCss, isSafeCssValue } from './safe-css.ts';
import {
  isNotes,
  isPlainAttribute,
  SAFE_ATTRIBUTES,
  SAFE_ELEMENTS,
  SVG_NAMESPACE,
  XLINK_NAMESPACE,
} from './svg-names.ts';

/**
 * The verdict on bytes as an SVG: a picture and nothing else, one that may do more, or no SVG at
 * all.
 */
export type SvgVerdict = 'safe' | 'unsafe' | 'no_svg';

/**
 * Checks whether bytes are an SVG that can do nothing but show. An XML parser reads it to its end,
 * and everything in it has to be known as harmless: elements, attributes, CSS. So it has no
 * scripts, event handlers, pages within the picture or entities, and it loads nothing from
 * elsewhere. This holds even if a page takes the picture into its own HTML. Any other picture is
 * refused as a whole. Cleaning would mean rewriting it, and rewritten text may be parsed in another
 * way.
 */
export function judgeSvg(bytes: Buffer): SvgVerdict {
  const text = decode(bytes);
  if (text === undefined || !text.trimStart().startsWith('<')) return 'no_svg';
  let isSvg = false;
  try {
    read(text, () => {
      isSvg = true;
    });
  } catch {
    return isSvg ? 'unsafe' : 'no_svg';
  }
  return isSvg ? 'safe' : 'no_svg';
}

/** Deeper pictures are made to do harm. */
const MOST_DEPTH = 200;

/** Reads all of it. @throws Error at the first part that is not known as harmless */
function read(text: string, onSvg: () => void): void {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const open: SaxesTagNS[] = [];
  let css = '';

  function readText(part: string): void {
    if (isStyle(open.at(-1))) css += part;
  }

  parser.on('error', (error) => {
    throw error;
  });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !ENCODINGS.test(encoding)) refuse(`encoding ${encoding}`);
  });
  parser.on('doctype', (doctype) => {
    if (!HARMLESS_DOCTYPE.test(doctype)) refuse('a document type of its own');
  });
  parser.on('processinginstruction', ({ target, body }) => {
    if (target !== 'xpacket' || body.includes('>')) refuse(`the instruction ${target}`);
  });
  parser.on('comment', (comment) => {
    // In HTML such a comment ends at once, and the rest of it is part of the page.
    const isOver = /^-?>|--!>/.test(comment);
    if (isOver || isLabel(open.at(-1))) refuse('a comment that HTML reads in another way');
  });
  parser.on('opentag', (tag) => {
    if (open.length === 0) {
      if (tag.uri !== SVG_NAMESPACE || tag.local !== 'svg') refuse('another root');
      onSvg();
    }
    const isWithinText = isStyle(open.at(-1)) || isLabel(open.at(-1));
    if (open.length >= MOST_DEPTH || isWithinText) refuse('elements where none belong');
    checkElement(tag);
    open.push(tag);
    css = '';
  });
  parser.on('text', readText);
  parser.on('cdata', (part) => {
    if (isLabel(open.at(-1))) refuse('text that HTML reads in another way');
    readText(part);
  });
  parser.on('closetag', (tag) => {
    open.pop();
    if (isStyle(tag) && !isSafeCss(css)) refuse('CSS');
  });
  parser.write(text).close();
}

function isStyle(tag: SaxesTagNS | undefined): boolean {
  return tag?.local === 'style';
}

/** In HTML, the content of these elements is parsed as HTML again. */
function isLabel(tag: SaxesTagNS | undefined): boolean {
  return tag?.local === 'title' || tag?.local === 'desc';
}

function checkElement({ name, local, prefix, uri, attributes }: SaxesTagNS): void {
  // Without a prefix, an HTML page would take notes with the names of its own elements for those
  // elements.
  const isNote = prefix !== '' && isNotes(uri);
  const isKnown = uri === SVG_NAMESPACE && SAFE_ELEMENTS.has(local);
  if (!isNote && !isKnown) refuse(`the element ${name}`);
  for (const attribute of Object.values(attributes)) {
    if (!isSafeAttribute(local, attribute)) refuse(`the attribute ${attribute.name}`);
  }
}

function isSafeAttribute(element: string, { local, uri, value }: SaxesAttributeNS): boolean {
  if (uri === XMLNS) return true;
  if (/^on/i.test(local) || /^\s*(?:java|vb|live)script\s*:/i.test(value)) return false;
  if (isNotes(uri)) return true;
  if (local === 'href')
    return isSafeLink(element, value) && (uri === '' || uri === XLINK_NAMESPACE);
  if (uri !== '') return SAFE_ATTRIBUTES.get(uri)?.has(local) ?? false;
  if (local === 'style') return isSafeCss(value);
  return isPlainAttribute(local) || isSafeCssValue(value);
}

/** Whether a link stays within the picture, or leads to an embedded picture. */
function isSafeLink(element: string, target: string): boolean {
  const isPicture = element === 'image' || element === 'feImage';
  return /^\s*(?:#|$)/.test(target) || (isPicture && isEmbeddedPicture(target.trim()));
}

const XMLNS = 'http://www.w3.org/2000/xmlns/';

/** The doctype of the W3C, without definitions of its own. */
const HARMLESS_DOCTYPE =
  /^\s*svg(?:\s+PUBLIC\s+"-\/\/W3C\/\/DTD SVG [\w. ]{1,40}\/\/EN"\s+"https?:\/\/www\.w3\.org\/[\w./-]{1,80}")?\s*$/;

/** Encodings in which ASCII is ASCII: in some others a browser finds what no other program does. */
const ENCODINGS = /^(?:utf-8|us-ascii|ascii|iso-8859-1|windows-1252)$/i;

/** Decodes as UTF-8, else byte by byte, which is good enough to find text in ASCII. */
function decode(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined; // UTF-16, or no text
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function refuse(what: string): never {
  throw new Error(`there is ${what} in it`);
}
