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
