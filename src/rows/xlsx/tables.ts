import { columnOfRef } from './cell-ref.ts';
import type { Package } from './package.ts';
import { readRelations } from './parts.ts';
import { decodeWhole } from './xml.ts';
import { findElements, type XmlElement } from './xml-edit.ts';

/** A table on a sheet. Columns count from 0, rows from 1. */
export interface SheetTable {
  /** As formulas call it. */
  readonly name: string;
  /** Its part in the package. */
  readonly path: string;
  readonly xml: string;
  /** Elements of the part, down to its columns. */
  readonly elements: readonly XmlElement[];
  readonly element: XmlElement;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
  /** The row with its totals, if it has any. */
  readonly totalsRow: number | undefined;
}

/** @throws Error when one of them is damaged */
export async function readTables(pack: Package, path: string): Promise<readonly SheetTable[]> {
  const tables: SheetTable[] = [];
  for (const { kind, target } of await readRelations(pack, path)) {
    if (kind !== 'table' || pack.find(target) === undefined) continue;
    const xml = decodeWhole(await pack.readWhole(target));
    const elements = findElements(xml, 3);
    const element = elements.at(-1);
    const ref = element?.attributes['ref'] ?? '';
    const [, from, firstRow, to, lastRow] = /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(ref) ?? [];
    if (!element || from === undefined || to === undefined) continue;
    const rows = { firstRow: Number(firstRow), lastRow: Number(lastRow) };
    const columns = { firstColumn: columnOfRef(from), lastColumn: columnOfRef(to) };
    const totalsRow =
      Number(element.attributes['totalsRowCount'] ?? 0) > 0 ? rows.lastRow : undefined;
    const name = element.attributes['displayName'] ?? element.attributes['name'] ?? '';
    tables.push({ name, path: target, xml, elements, element, ...rows, ...columns, totalsRow });
  }
  return tables;
}
