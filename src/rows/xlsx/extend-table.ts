import { columnName } from './cell-ref.ts';
import { escapeXml } from './escape-xml.ts';
import type { Workbook } from './open-workbook.ts';
import type { SheetLayout } from './sheet-writer.ts';
import type { SheetTable } from './tables.ts';
import { editXml, withAttribute, type XmlEdit } from './xml-edit.ts';

const MOST_CHARACTERS = 255;

/**
 * Extends the table that the list is formatted as over our columns. Otherwise sorting it would tear
 * our cells off their rows. A table that is somewhere else, or filled by a query, stays as it is.
 *
 * @returns the changed part of the table, by its path; nothing when the list is no table
 */
export function extendTable(workbook: Workbook, layout: SheetLayout): ReadonlyMap<string, string> {
  const table = findTableOfList(workbook, layout);
  const lists = table?.elements.find(({ path }) => path === 'table/tableColumns');
  if (!table || !lists || lists.isSelfClosing) return new Map();
  const { path, xml, elements, element } = table;
  const ends = columnName(layout.lastColumn);
  const ref = `${columnName(table.firstColumn)}${table.firstRow}:${ends}`;
  const ids = elements
    .filter(({ local }) => local === 'tableColumn')
    .map(({ attributes }) => Number(attributes['id']));
  const nextId = Math.max(0, ...ids) + 1;
  const close = xml.lastIndexOf('<', lists.end - 1);
  const added = layout.added.map(
    (name, at) => `<${element.prefix}tableColumn id="${nextId + at}" name="${escapeXml(name)}"/>`,
  );
  const tag = (from: number, to: number, name: string, value: string): XmlEdit => ({
    start: from,
    end: to,
    text: withAttribute(xml.slice(from, to), name, value),
  });
  const filter = elements.find(({ path }) => path === 'table/autoFilter');
  const [, filterEnd = table.lastRow] = /:[A-Z]+(\d+)$/.exec(filter?.attributes['ref'] ?? '') ?? [];
  const edited = editXml(xml, [
    tag(element.start, element.tagEnd, 'ref', `${ref}${table.lastRow}`),
    ...(filter ? [tag(filter.start, filter.tagEnd, 'ref', `${ref}${filterEnd}`)] : []),
    tag(lists.start, lists.tagEnd, 'count', String(ids.length + added.length)),
    { start: close, end: close, text: added.join('') },
  ]);
  return new Map([[path, edited]]);
}

/** The table that can be extended over our columns. */
export function findTableOfList(
  { tables, columns, place }: Workbook,
  layout: SheetLayout,
): SheetTable | undefined {
  const names = [...columns, ...layout.added];
  return tables.find(
    ({ firstRow, lastColumn, element }) =>
      firstRow === place.header.number &&
      lastColumn === layout.lastColumn - layout.added.length &&
      isPlain(element.attributes, names),
  );
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
