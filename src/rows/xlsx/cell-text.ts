import { escapeXml } from './escape-xml.ts';

// How texts are written in cells: what XML cannot hold stands there as _xHHHH_, and so does the
// underscore of a text that only looks like that.

const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;
const UNHOLDABLE = /(?![\t\n\r\x7F-\x9F])\p{Cc}|[\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)/gu;
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** A text as it is meant. */
export function unescapeCellText(text: string): string {
  return text.includes('_x')
    ? text.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;
}

/** Most texts need no care. */
const SUSPECT = /[&<>"_]|[^\x20-\x7E\xA0-\uD7FF\uE000-\uFFFD]/;

/** A text as it is written into a sheet. Half a character becomes U+FFFD. */
export function escapeCellText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const holdable = text
    .replaceAll(UNHOLDABLE, (found) => `_x${found.charCodeAt(0).toString(16).padStart(4, '0')}_`)
    .replaceAll(LONE_SURROGATE, '\uFFFD');
  return escapeXml(holdable);
}
