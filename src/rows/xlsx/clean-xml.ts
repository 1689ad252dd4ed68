// Rows and cells go from one sheet into another as they stand, but for what would not fit there.

/** The opening tag of a row, with its number, and without the hint which of its cells are filled. */
export function cleanRowTag(
  tag: string,
  { number, isNumbered }: { readonly number: number; readonly isNumbered: boolean },
): string {
  const open = tag.endsWith('/>') ? `${tag.slice(0, -2)}>` : tag;
  const bare = open.replace(/\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, '');
  return isNumbered ? bare : bare.replace(/^<[^\s>]+/, (name) => `${name} r="${number}"`);
}

/** A cell, with its place, and without what only makes cells hard to cut. */
export function cleanCell(
  xml: string,
  { ref, hadRef }: { readonly ref: string; readonly hadRef: boolean },
): string {
  const placed = hadRef ? xml : xml.replace(/^<[^\s/>]+/, (name) => `${name} r="${ref}"`);
  return placed.includes('<!') ? withoutComments(placed) : placed;
}

function withoutComments(xml: string): string {
  return xml
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, text: string) =>
      text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    );
}
