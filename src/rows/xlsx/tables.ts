import { columnName, MOST_COLUMNS, type Range, readRange } from './cell.ts';
import { type Package, readRelations } from './package.ts';
import { attributeOf, escapeXml, readXml, withAttribute } from './xml.ts';

/** A table on a sheet. */
export interface SheetTable extends Range {
  /** As formulas call it. */
  readonly name: string;
  /** The row with its totals, if it has any. */
  readonly totalsRow: number | undefined;
  /** Its part in the package. */
  readonly path: string;
  /** The same with more columns at its right; undefined when it cannot have them. */
  extended(names: readonly string[]): string | undefined;
}

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

/** The longest name of a column in a table. */
const MOST_CHARACTERS = 255;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function readTable(xml: string, path: string): SheetTable | undefined {
  let root: Readonly<Record<string, string>> = {};
  let prefix = '';
  let range: Range | undefined;
  const names: string[] = [];
  let nextId = 1;
  /** Where the tags with ranges and with the number of columns are, and where the columns end. */
  const tags: { readonly local: string; readonly start: number; readonly end: number }[] = [];
  let columnsEnd: number | undefined;
  readXml(xml, {
    open: (tag) => {
      const { local, depth, attributes, start, end } = tag;
      if (depth === 0) {
        root = attributes;
        ({ prefix } = tag);
        range = readRange(attributeOf(tag, 'ref'));
      }
      const isRanged = depth === 0 || (depth === 1 && local === 'autoFilter');
      if (isRanged || (depth === 1 && local === 'tableColumns')) tags.push({ local, start, end });
      if (local !== 'tableColumn') return;
      names.push(attributeOf(tag, 'name') ?? '');
      nextId = Math.max(nextId, Number(attributeOf(tag, 'id') ?? 0) + 1);
    },
    close: (local, start) => {
      if (local === 'tableColumns') columnsEnd = xml.indexOf('<', start);
    },
  });
  if (!range) return undefined;
  const own = range;
  const hasTotals = Number(root['totalsRowCount'] ?? 0) > 0;

  function canTake(added: readonly string[]): boolean {
    const folded = [...names, ...added].map((name) => name.toLowerCase());
    return (
      names.length > 0 &&
      root['tableType'] === undefined &&
      root['headerRowCount'] !== '0' &&
      new Set(folded).size === folded.length &&
      added.every((name) => name.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(name))
    );
  }

  function tagWith(tag: string, local: string, added: number): string {
    if (local === 'tableColumns') return withAttribute(tag, 'count', String(names.length + added));
    const last = columnName(own.lastColumn + added);
    const ref = /\sref\s*=\s*["']([^"']*)/.exec(tag)?.[1] ?? '';
    return withAttribute(tag, 'ref', ref.replace(/[A-Z]+(\$?\d+)$/, `${last}$1`));
  }

  return {
    ...range,
    name: root['displayName'] ?? root['name'] ?? '',
    totalsRow: hasTotals ? range.lastRow : undefined,
    path,
    extended: (added) => {
      if (columnsEnd === undefined || !canTake(added)) return undefined;
      const columns = added.map(
        (name, at) => `<${prefix}tableColumn id="${nextId + at}" name="${escapeXml(name)}"/>`,
      );
      const edits: Edit[] = tags.map(({ local, start, end }) => {
        const from = xml.lastIndexOf('<', end - 1);
        return {
          start: Math.max(start, from),
          end,
          text: tagWith(xml.slice(from, end), local, added.length),
        };
      });
      edits.push({ start: columnsEnd, end: columnsEnd, text: columns.join('') });
      // From the last one on, so that the places of those before it stay.
      return edits.reduceRight(
        (text, edit) => text.slice(0, edit.start) + edit.text + text.slice(edit.end),
        xml,
      );
    },
  };
}
