import { columnsOf, MOST_COLUMNS } from './cell-ref.ts';
import type { Package } from './package.ts';
import { readRelations } from './parts.ts';
import { attributeOf, decodeWhole, readXml } from './xml.ts';

/** The cells that a picture or a chart lies over. Columns count from 0, rows from 1. */
export interface Drawing {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly lastColumn: number;
}

/** Lengths in drawings are in EMU, 9,525 to a pixel. */
const EMU_PER_PIXEL = 9_525;
const PIXELS_PER_ROW = 20;
const PIXELS_PER_CHARACTER = 7;
const PIXELS_OF_MARGIN = 5;
const USUAL_WIDTH = 8.43;

/**
 * Finds where the drawings of a sheet are. One that cannot be read is where it was, and in nobody's
 * way.
 *
 * @param head the sheet up to its rows, which has the widths of columns
 */
export async function readDrawings(
  pack: Package,
  path: string,
  head: string,
): Promise<readonly Drawing[]> {
  const drawings: Drawing[] = [];
  for (const { kind, target } of await readRelations(pack, path)) {
    if (kind !== 'drawing' || pack.find(target) === undefined) continue;
    const xml = await pack.readWhole(target).then(decodeWhole, () => '');
    try {
      drawings.push(...findDrawings(xml, widthsOf(head)));
    } catch {}
  }
  return drawings;
}

interface Anchor {
  readonly kind: string;
  readonly depth: number;
  readonly places: Record<string, number>;
}

/** Anchors name the cells of two corners, or of one and the size, or only a place and the size. */
function findDrawings(xml: string, widthOf: (column: number) => number): readonly Drawing[] {
  const found: Drawing[] = [];
  let anchor: Anchor | undefined;
  let corner = '';
  let text = '';
  let depth = 0;
  if (xml === '') return found;
  readXml(xml, {
    open: (tag) => {
      depth += 1;
      text = '';
      if (/^(?:twoCell|oneCell|absolute)Anchor$/.test(tag.local)) {
        anchor = { kind: tag.local, depth, places: {} };
      } else if (anchor && depth === anchor.depth + 1) {
        corner = tag.local;
        for (const name of ['x', 'y', 'cx', 'cy']) {
          const value = attributeOf(tag, name);
          if (value !== undefined) anchor.places[name] = Number(value);
        }
      }
    },
    text: (more) => {
      text += more;
    },
    close: (local) => {
      if (anchor && depth === anchor.depth + 2 && (corner === 'from' || corner === 'to')) {
        anchor.places[`${corner}.${local}`] = Number(text);
      }
      if (anchor?.depth === depth) {
        found.push(drawingAt(anchor.places, widthOf));
        anchor = undefined;
      }
      depth -= 1;
    },
  });
  return found;
}

function drawingAt(
  places: Readonly<Record<string, number>>,
  widthOf: (column: number) => number,
): Drawing {
  const of = (name: string): number => places[name] ?? 0;
  const firstRow = of('from.row') + Math.floor(of('y') / EMU_PER_PIXEL / PIXELS_PER_ROW);
  if (places['to.col'] !== undefined) {
    // A corner at the very edge of a cell does not lie over it.
    const edge = (name: string, offset: string): number => of(name) - (of(offset) === 0 ? 1 : 0);
    return {
      firstRow: firstRow + 1,
      lastRow: edge('to.row', 'to.rowOff') + 1,
      lastColumn: edge('to.col', 'to.colOff'),
    };
  }
  const heightPixels = (of('from.rowOff') + of('cy')) / EMU_PER_PIXEL;
  let pixels = (of('x') + of('from.colOff') + of('cx')) / EMU_PER_PIXEL;
  let column = of('from.col');
  while (column < MOST_COLUMNS && pixels > widthOf(column)) {
    pixels -= widthOf(column);
    column += 1;
  }
  return {
    firstRow: firstRow + 1,
    lastRow: firstRow + Math.ceil(heightPixels / PIXELS_PER_ROW),
    lastColumn: column,
  };
}

/** The widths of columns in pixels. */
function widthsOf(head: string): (column: number) => number {
  const [, usual] =
    /<(?:[\w.-]+:)?sheetFormatPr\s[^>]*?defaultColWidth\s*=\s*["']([\d.]+)/.exec(head) ?? [];
  const ranges = columnsOf(head);
  return (column) => {
    const own = ranges.find(({ first, last }) => first <= column && column <= last);
    if (own?.isHidden) return 0;
    const characters = Number(own?.width ?? usual ?? USUAL_WIDTH);
    return Math.floor(characters * PIXELS_PER_CHARACTER + PIXELS_OF_MARGIN);
  };
}
