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
