import { columnName, columnOfRef } from './cell-ref.ts';
import type { Package } from './package.ts';
import { readRelations } from './parts.ts';
import { MOST_OF_FRAME } from './sheet-reader.ts';
import { attributeOf, decodeXml, readXml } from './xml.ts';

/** As many as a sheet may have; one link over many cells counts for each cell. */
const MOST_LINKS = 200_000;
const HYPERLINK = /<(?:[\w.-]+:)?hyperlink(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))+\s*\/?>/g;
export const NO_LINKS: ReadonlyMap<string, string> = new Map();

/**
 * Finds the link targets of the cells of a sheet. They are listed behind its rows, so the sheet is
 * read once more, unless it has no links.
 *
 * @returns addresses by the reference of their cell, such as `B5`. Links within the workbook do not
 * count.
 */
export async function readLinks(pack: Package, path: string): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>();
  for (const { id, kind, target, isExternal } of await readRelations(pack, path)) {
    if (kind === 'hyperlink' && isExternal) targets.set(id, target);
  }
  if (targets.size === 0) return NO_LINKS;
  const links = new Map<string, string>();
  for await (const xml of tagsBehindRows(pack, path)) {
    readXml(xml.endsWith('/>') ? xml : `${xml.slice(0, -1)}/>`, {
      open: (tag) => {
        const id = Object.entries(tag.attributes).find(([name]) => name.endsWith(':id'))?.[1];
        const target = id === undefined ? undefined : targets.get(id);
        if (target === undefined || links.size === MOST_LINKS) return;
        for (const place of placesOf(attributeOf(tag, 'ref') ?? '')) {
          if (links.size < MOST_LINKS) links.set(place, target);
        }
      },
    });
  }
  return links;
}

/** The hyperlink elements of a sheet, without reading its cells. */
async function* tagsBehindRows(pack: Package, path: string): AsyncGenerator<string> {
  let rest = '';
  let behind = 0;
  let isBehind = false;
  for await (const chunk of decodeXml(pack.read(path))) {
    rest += chunk;
    if (!isBehind) {
      const end = rest.search(/<\/(?:[\w.-]+:)?sheetData\s*>/);
      if (end === -1) {
        rest = rest.slice(-100);
        continue;
      }
      isBehind = true;
      rest = rest.slice(end);
    }
    behind += chunk.length;
    if (behind > MOST_OF_FRAME) throw new Error('what is around its rows is too long');
    let last = 0;
    for (const found of rest.matchAll(HYPERLINK)) {
      yield found[0];
      last = found.index + found[0].length;
    }
    rest = rest.slice(Math.max(last, rest.length - 65_536));
  }
}

/** `B5`, or all cells of `B5:B9`. */
function placesOf(ref: string): readonly string[] {
  const [first = '', last = first] = ref.split(':');
  const from = { column: columnOfRef(first), row: rowOfRef(first) };
  const to = { column: columnOfRef(last), row: rowOfRef(last) };
  const places: string[] = [];
  if (to.column < Math.max(0, from.column)) return places; // its rows would be counted for nothing
  for (let row = from.row; row <= to.row && places.length < MOST_LINKS; row += 1) {
    for (let column = Math.max(0, from.column); column <= to.column; column += 1) {
      places.push(`${columnName(column)}${row}`);
    }
  }
  return places;
}

function rowOfRef(ref: string): number {
  return Number(/\d+$/.exec(ref)?.[0] ?? 0);
}
