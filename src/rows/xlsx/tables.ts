import { MOST_COLUMNS, rangeRef, readRange } from './cell.ts';
import { type Package, readRelations } from './package.ts';
import { escapeXml, readXml, withAttribute } from './xml.ts';

/** A table on a sheet. */
export type SheetTable = NonNullable<ReturnType<typeof readTable>>;

/** @throws Error when one of them is damaged */
export async function readTables(pack: Package, path: string): Promise<readonly SheetTable[]> {
  const tables: SheetTable[] = [];
  for (const { kind, target } of await readRelations(pack, path)) {
    if (kind !== 'table' || pack.find(target) === undefined) continue;
    const table = readTable(await pack.readText(target), target);
    if (table && table.lastColumn < MOST_COLUMNS) tables.push(table);
  }
  return tables;
}

const COLUMNS_END = /<\/((?:[\w.-]+:)?)tableColumns\s*>/;
/** The tags with a range or with the number of columns. No tag has a `<` in it. */
const TAGS = /<(?:[\w.-]+:)?(table|autoFilter|tableColumns)(?=[\s>])[^<]*?>/g;

function readTable(xml: string, path: string) {
  let root: Readonly<Record<string, string>> = {};
  const names: string[] = [];
  let lastId = 0;
  readXml(xml, {
    open: (tag) => {
      if (tag.depth === 0) root = tag.attributes;
      if (tag.local !== 'tableColumn') return;
      names.push(tag.attributes['name'] ?? '');
      lastId = Math.max(lastId, Number(tag.attributes['id'] ?? 0));
    },
  });
  const range = readRange(root['ref']);
  if (!range) return undefined;

  const hasHeader = root['headerRowCount'] !== '0';

  function canTake(added: readonly string[]): boolean {
    const folded = [...names, ...added].map((name) => name.toLowerCase());
    return (
      names.length > 0 &&
      root['tableType'] === undefined &&
      hasHeader &&
      new Set(folded).size === folded.length &&
      !added.some((name) => /\p{Cc}/u.test(name))
    );
  }

  return {
    ...range,
    hasHeader,
    /** As formulas call it. */
    name: root['displayName'] ?? root['name'] ?? '',
    /** The row with its totals, if it has any. */
    totalsRow: Number(root['totalsRowCount'] ?? 0) > 0 ? range.lastRow : undefined,
    /** Its part in the package. */
    path,
    /** The same with more columns at its right; undefined when it cannot have them. */
    extended: (added: readonly string[]): string | undefined => {
      if (!COLUMNS_END.test(xml) || !canTake(added)) return undefined;
      const lastColumn = range.lastColumn + added.length;
      const widen = (tag: string, local: string): string =>
        local === 'tableColumns'
          ? withAttribute(tag, 'count', String(names.length + added.length))
          : widened(tag, lastColumn);
      const columnsOf = (prefix: string): string =>
        added
          .map(
            (name, at) =>
              `<${prefix}tableColumn id="${lastId + 1 + at}" name="${escapeXml(name)}"/>`,
          )
          .join('');
      return xml
        .replaceAll(TAGS, widen)
        .replace(COLUMNS_END, (end: string, prefix: string) => columnsOf(prefix) + end);
    },
  };
}

/** A tag whose range goes up to a column at least. */
export function widened(tag: string, lastColumn: number): string {
  const own = readRange(/\sref\s*=\s*["']([^"']*)/.exec(tag)?.[1]);
  if (!own) return tag;
  const range = { ...own, lastColumn: Math.max(own.lastColumn, lastColumn) };
  return withAttribute(tag, 'ref', rangeRef(range));
}
