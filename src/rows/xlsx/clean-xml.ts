// Rows and cells are copied from sheet to sheet, without the parts that would not fit there.

/** Adds its number to the tag of a row, and removes the hint which of its cells are filled. */
export function cleanRowTag(
  tag: string,
  { number, isNumbered }: { readonly number: number; readonly isNumbered: boolean },
): string {
  const open = tag.endsWith('/>') ? `${tag.slice(0, -2)}>` : tag;
  const bare = open.replace(/\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, '');
  return isNumbered ? bare : bare.replace(/^<[^\s>]+/, (name) => `${name} r="${number}"`);
}

/** Adds its reference to a cell, and removes whatever only makes cells hard to split. */
export function cleanCell(
  xml: string,
  { ref, hadRef }: { readonly ref: string; readonly hadRef: boolean },
): string {
  const placed = hadRef ? xml : xml.replace(/^<[^\s/>]+/, (name) => `${name} r="${ref}"`);
  return placed.includes('<!') ? withoutComments(placed) : placed;
}

function withoutComments(xml: string): string {
  // Both in one pass: what looks like a comment within CDATA is text.
  return xml.replaceAll(/<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, text = '') =>
    String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  );
}
