import { columnName, columnOfRef } from './cell-ref.ts';
import { normalizePath } from './package.ts';
import type { SheetPart } from './parts.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { escapeXml } from './xml.ts';
import { editXml, findElements, type XmlEdit, type XmlElement } from './xml-edit.ts';

/** A sheet to be added to a workbook. */
export interface NewSheet {
  readonly name: string;
  /** Its part in the package. */
  readonly path: string;
  /** The type of that part. */
  readonly type: string;
}

export interface WorkbookEdit {
  /** The sheet of the list. */
  readonly sheet: SheetPart;
  readonly newSheet: NewSheet | undefined;
  /** A part that is left out. */
  readonly chain: string | undefined;
  /** What names of ranges have to fit; undefined when all stay as they are. */
  readonly names?: NamesEdit | undefined;
}

interface NamesEdit {
  readonly layout: SheetLayout;
  /** The range of the list's filter, `A1:F20`; undefined when it stays as it is. */
  readonly filter: string | undefined;
}

/** The parts of a workbook that say which others there are. */
export interface WorkbookTexts {
  readonly types: string;
  readonly workbook: string;
  readonly relations: string;
}

/**
 * Changes what a workbook says about its parts.
 *
 * @throws Error when it says it in a way that cannot be changed
 */
export function editTexts(
  { types, workbook, relations }: WorkbookTexts,
  { sheet, newSheet, chain, names }: WorkbookEdit,
): WorkbookTexts {
  const id = freeId(relations);
  return {
    types: editTypes(types, newSheet, chain),
    workbook: editWorkbook(workbook, { sheet, newSheet, id, names }),
    relations: editRelations(relations, { sheet, newSheet, id }),
  };
}

function editTypes(xml: string, newSheet: NewSheet | undefined, chain: string | undefined): string {
  const elements = findElements(xml, 2);
  const edits: XmlEdit[] = [];
  for (const { attributes, start, end } of elements) {
    const name = normalizePath(attributes['PartName'] ?? '');
    if (name !== '' && name.toLowerCase() === chain?.toLowerCase()) {
      edits.push({ start, end, text: '' });
    }
  }
  if (newSheet) {
    const { path, type } = newSheet;
    edits.push(
      atEnd(xml, elements, ({ prefix }) => {
        return `<${prefix}Override PartName="/${path}" ContentType="${type}"/>`;
      }),
    );
  }
  return editXml(xml, edits);
}

interface WithId {
  readonly sheet: SheetPart;
  readonly newSheet: NewSheet | undefined;
  readonly id: string;
}

function editRelations(xml: string, { sheet, newSheet, id }: WithId): string {
  const elements = findElements(xml, 2);
  const edits: XmlEdit[] = [];
  for (const { attributes, start, end } of elements) {
    if (attributes['Type']?.endsWith('/calcChain')) edits.push({ start, end, text: '' });
  }
  if (newSheet) {
    edits.push(
      atEnd(xml, elements, ({ prefix }) => {
        return `<${prefix}Relationship Id="${id}" Type="${sheet.relationType}" Target="/${newSheet.path}"/>`;
      }),
    );
  }
  return editXml(xml, edits);
}

/** Inserts right before the end of the root. */
function atEnd(
  xml: string,
  elements: readonly XmlElement[],
  text: (root: XmlElement) => string,
): XmlEdit {
  const root = elements.at(-1);
  if (!root || root.isSelfClosing) throw new Error('a part that lists others is empty');
  const start = xml.lastIndexOf('<', root.end - 1);
  return { start, end: start, text: text(root) };
}

function freeId(relations: string): string {
  for (let count = 1; ; count += 1) {
    const id = `rIdBrandfill${count}`;
    if (!relations.includes(id)) return id;
  }
}

/**
 * Puts a sheet behind the last one. Anywhere else it could get between the two ends of a reference
 * such as `Jan:Mar!C2`, and names that apply to one sheet say which by its place.
 */
function editWorkbook(
  xml: string,
  { sheet, newSheet, id, names }: WithId & Pick<WorkbookEdit, 'names'>,
): string {
  const elements = findElements(xml, 3);
  const sheets = elements.filter(({ path }) => path === 'workbook/sheets/sheet');
  const at = sheets.findIndex(({ attributes }) => relationId(attributes)[1] === sheet.relationId);
  const own = sheets[at];
  const last = sheets.at(-1);
  if (!own || !last) throw new Error('a sheet is not in its workbook');
  const edits: XmlEdit[] = [];
  for (const element of elements) {
    const { path, attributes, isSelfClosing } = element;
    if (path !== 'workbook/definedNames/definedName' || isSelfClosing) continue;
    if (!names || Number(attributes['localSheetId'] ?? -1) !== at) continue;
    const start = element.tagEnd;
    const end = xml.lastIndexOf('<', element.end - 1);
    const was = xml.slice(start, end);
    const text = rangesOfName(attributes['name'] ?? '', was, names);
    if (text !== was) edits.push({ start, end, text });
  }
  if (newSheet) {
    const [idName] = relationId(own.attributes);
    const ids = sheets.map(({ attributes }) => Number(attributes['sheetId']) || 0);
    const state = sheet.isHidden ? ' state="hidden"' : '';
    const text = `<${last.prefix}sheet${namespacesOf(own)} name="${escapeXml(newSheet.name)}" sheetId="${Math.max(...ids) + 1}"${state} ${idName}="${id}"/>`;
    edits.push({ start: last.end, end: last.end, text });
  }
  return editXml(xml, edits);
}

/** `$A$1:$C$20`, `$A:$C` */
const RANGE = /\$([A-Z]+)(?:\$(\d+))?:\$([A-Z]+)(?:\$(\d+))?/g;

/**
 * The ranges of a name that a program gave: a filter also has one, which has to end where the filter
 * ends, and what is printed of the list is printed with our columns.
 */
function rangesOfName(name: string, ranges: string, { layout, filter }: NamesEdit): string {
  const { headerRow, lastRow, domainColumn, lastOwnColumn, lastColumn } = layout;
  const ends = columnName(lastColumn);
  if (name === '_xlnm._FilterDatabase') {
    const [, , first, , last] = /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(filter ?? '') ?? [];
    return ranges.replaceAll(RANGE, (all, from: string, row?: string) =>
      first !== undefined && row === first ? `$${from}$${row}:$${ends}$${last}` : all,
    );
  }
  if (name !== '_xlnm.Print_Area') return ranges;
  return ranges.replaceAll(RANGE, (all, from: string, first = '', to: string, last = '') => {
    const hasList =
      columnOfRef(from) <= domainColumn &&
      columnOfRef(to) >= lastOwnColumn &&
      columnOfRef(to) < lastColumn &&
      Number(first) <= lastRow &&
      (last === '' || Number(last) >= headerRow);
    const rows = [first, last].map((row: string) => (row === '' ? '' : `$${row}`));
    return hasList ? `$${from}${rows[0]}:$${ends}${rows[1]}` : all;
  });
}

/** Some programs declare a prefix where it is used, and not on the root. */
function namespacesOf({ attributes }: XmlElement): string {
  return Object.entries(attributes)
    .filter(([name]) => name.startsWith('xmlns:'))
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join('');
}

function relationId(attributes: Readonly<Record<string, string>>): readonly [string, string] {
  return Object.entries(attributes).find(([name]) => name.endsWith(':id')) ?? ['r:id', ''];
}
