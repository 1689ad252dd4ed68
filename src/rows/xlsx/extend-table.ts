import { columnName } from './cell-ref.ts';
import { escapeXml } from './escape-xml.ts';
import type { Workbook } from './open-workbook.ts';
import type { SheetLayout } from './sheet-writer.ts';
import type { SheetTable } from './tables.ts';
import { editXml, withAttribute, type XmlEdit, type XmlElement } from './xml-edit.ts';

/**
 * The table that the list is formatted as: it has the header of the list, and the domains in it. Any
 * other table beside the list has nothing to do with our columns.
 *
 * @param domainColumn from 0, as the sheet counts
 */
export function findTableOfList(
  { tables, place }: Pick<Workbook, 'tables' | 'place'>,
  domainColumn: number,
): SheetTable | undefined {
  return tables.find(
    ({ firstRow, firstColumn, lastColumn }) =>
      firstRow === place.header.number && firstColumn <= domainColumn && domainColumn <= lastColumn,
  );
}

/**
 * Extends the table of the list over our columns. Otherwise sorting it would tear our cells off
 * their rows.
 *
 * @returns the changed part of the table, by its path; nothing when there is none, or it cannot be
 * extended
 */
export function extendTable(workbook: Workbook, layout: SheetLayout): ReadonlyMap<string, string> {
  const table = findTableToExtend(workbook, layout);
  const lists = table?.elements.find(({ path }) => path === 'table/tableColumns');
  if (!table || !lists) return new Map();
  const { path, xml, elements, element } = table;
  const ends = columnName(layout.lastColumn);
  const ref = `${columnName(table.firstColumn)}${table.firstRow}:${ends}`;
  const ids = columnsOf(table).map(({ attributes }) => Number(attributes['id']));
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

/** The table of the list, if nothing is between it and our columns and it can take them. */
export function findTableToExtend(
  workbook: Workbook,
  { domainColumn, lastColumn, added }: SheetLayout,
): SheetTable | undefined {
  const table = findTableOfList(workbook, domainColumn);
  const isBeside = table?.lastColumn === lastColumn - added.length;
  return table && isBeside && canTake(table, added) ? table : undefined;
}

/** The longest name of a column in a table. */
const MOST_CHARACTERS = 255;

/** Whether a table can have these columns too: names must differ, in more than their case. */
function canTake(table: SheetTable, added: readonly string[]): boolean {
  const { element, elements } = table;
  const lists = elements.find(({ path }) => path === 'table/tableColumns');
  const names = columnsOf(table).map(({ attributes }) => attributes['name'] ?? '');
  const folded = [...names, ...added].map((name) => name.toLowerCase());
  return (
    lists?.isSelfClosing === false &&
    element.attributes['tableType'] === undefined &&
    element.attributes['headerRowCount'] !== '0' &&
    new Set(folded).size === folded.length &&
    added.every((name) => name.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(name))
  );
}

function columnsOf({ elements }: SheetTable): readonly XmlElement[] {
  return elements.filter(({ path }) => path === 'table/tableColumns/tableColumn');
}
