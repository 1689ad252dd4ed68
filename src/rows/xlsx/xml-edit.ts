import { columnOfRef } from './cell-ref.ts';
import { type Package, readRelations } from './package.ts';
import { decodeWhole, readXml, type XmlTag } from './xml.ts';

/** An element of a small document, and its place. */
export interface XmlElement extends XmlTag {
  /** Names of the elements around it and its own, without prefixes: `workbook/sheets/sheet`. */
  readonly path: string;
  readonly start: number;
  /** The end of its opening tag. */
  readonly tagEnd: number;
  /** The end of its closing tag. */
  readonly end: number;
}

/**
 * Finds the elements of a document down to a depth; the root has depth 1. They are in the order of
 * their ends.
 */
export function findElements(xml: string, depth: number): readonly XmlElement[] {
  const found: XmlElement[] = [];
  const open: { tag: XmlTag; start: number; tagEnd: number }[] = [];
  let level = 0;
  readXml(xml, {
    open: (tag, tagEnd) => {
      level += 1;
      if (level <= depth) open.push({ tag, start: xml.lastIndexOf('<', tagEnd - 1), tagEnd });
    },
    close: (_, end) => {
      level -= 1;
      if (level >= depth) return;
      const path = open.map(({ tag }) => tag.local).join('/');
      const last = open.pop();
      if (last) found.push({ ...last.tag, path, start: last.start, tagEnd: last.tagEnd, end });
    },
  });
  return found;
}

/** Replaces a part of a document. */
export interface XmlEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, which must not overlap. Of two insertions in one place the first comes first. */
export function editXml(xml: string, edits: readonly XmlEdit[]): string {
  const inOrder = [...edits].sort((one, other) => one.start - other.start);
  let text = '';
  let at = 0;
  for (const edit of inOrder) {
    text += xml.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + xml.slice(at);
}

/** An opening tag with a new value of an attribute, which it may not have had. */
export function withAttribute(tag: string, name: string, value: string): string {
  const bare = tag.replace(new RegExp(`\\s${name}\\s*=\\s*(?:"[^"]*"|'[^']*')`), '');
  return bare.replace(/\s*(\/?)>$/, ` ${name}="${value}"$1>`);
}

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
