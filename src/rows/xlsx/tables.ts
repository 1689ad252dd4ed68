import { columnName } from './cell-ref.ts';
import { escapeXml } from './escape-xml.ts';
import type { Workbook } from './open-workbook.ts';
import { readRelations } from './parts.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { decodeWhole } from './xml.ts';
import { editXml, findElements, withAttribute, type XmlEdit } from './xml-edit.ts';

const MOST_CHARACTERS = 255;

/**
 * Extends the table that the list is formatted as over our columns. Otherwise whoever sorts it would
 * tear our cells off their rows. A table that is somewhere else, or filled by a query, stays as it is.
 *
 * @returns the part of the table, changed, by its path; nothing when the list is no table
 */
export async function extendTable(
  { pack, sheet, columns, place }: Workbook,
  layout: SheetLayout,
): Promise<ReadonlyMap<string, string>> {
  const first = layout.lastColumn - layout.added.length + 1;
  const ends = columnName(first - 1);
  for (const { kind, target } of await readRelations(pack, sheet.path)) {
    if (kind !== 'table' || !pack.has(target)) continue;
    const xml = decodeWhole(await pack.readWhole(target));
    const elements = findElements(xml, 3);
    const table = elements.at(-1);
    const [, start = '', row, end, last] =
      /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(table?.attributes['ref'] ?? '') ?? [];
    const isOfList = end === ends && Number(row) === place.header.number;
    if (!table || !isOfList || !isPlain(table.attributes, [...columns, ...layout.added])) continue;
    const ref = `${start}${row}:${columnName(layout.lastColumn)}`;
    const lists = elements.find(({ path }) => path === 'table/tableColumns');
    if (!lists || lists.isSelfClosing) continue;
    const ids = elements
      .filter(({ local }) => local === 'tableColumn')
      .map(({ attributes }) => Number(attributes['id']));
    const nextId = Math.max(0, ...ids) + 1;
    const close = xml.lastIndexOf('<', lists.end - 1);
    const names = layout.added.map(
      (name, at) => `<${table.prefix}tableColumn id="${nextId + at}" name="${escapeXml(name)}"/>`,
    );
    const tag = (from: number, to: number, name: string, value: string): XmlEdit => ({
      start: from,
      end: to,
      text: withAttribute(xml.slice(from, to), name, value),
    });
    const filter = elements.find(({ path }) => path === 'table/autoFilter');
    const [, filterEnd = last] = /:[A-Z]+(\d+)$/.exec(filter?.attributes['ref'] ?? '') ?? [];
    const count = String(ids.length + names.length);
    const edited = editXml(xml, [
      tag(table.start, table.tagEnd, 'ref', `${ref}${last}`),
      ...(filter ? [tag(filter.start, filter.tagEnd, 'ref', `${ref}${filterEnd}`)] : []),
      tag(lists.start, lists.tagEnd, 'count', count),
      { start: close, end: close, text: names.join('') },
    ]);
    return new Map([[target, edited]]);
  }
  return new Map();
}

/** Whether a table can have these columns: their names must differ, in more than their case. */
function isPlain(attributes: Readonly<Record<string, string>>, names: readonly string[]): boolean {
  const folded = names.map((name) => name.toLowerCase());
  return (
    attributes['tableType'] === undefined &&
    attributes['headerRowCount'] !== '0' &&
    new Set(folded).size === folded.length &&
    names.every((name) => name.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(name))
  );
}
