import { escapeXml } from './escape-xml.ts';
import type { SheetPart, WorkbookParts } from './parts.ts';
import { editXml, findElements, withAttribute, type XmlEdit, type XmlElement } from './xml-edit.ts';

/** A sheet to be added to a workbook. */
export interface NewSheet {
  readonly name: string;
  /** Its part in the package. */
  readonly path: string;
  /** The type of that part. */
  readonly type: string;
}

export interface WorkbookEdit {
  /** The sheet of the list; a new sheet goes right behind it. */
  readonly sheet: SheetPart;
  readonly parts: WorkbookParts;
  readonly newSheet: NewSheet | undefined;
  /** A part that is left out. */
  readonly chain: string | undefined;
  /** The new range of the list's filter, `A1:F20`; undefined when it stays as it is. */
  readonly range: string | undefined;
}

const TYPES_PATH = '[Content_Types].xml';

/**
 * Changes what a workbook says about its parts.
 *
 * @param texts the parts that say it, by their paths
 * @returns the same parts, changed
 */
export function editTexts(
  texts: ReadonlyMap<string, string>,
  { sheet, parts, newSheet, chain, range }: WorkbookEdit,
): ReadonlyMap<string, string> {
  const types = texts.get(TYPES_PATH) ?? '';
  const workbook = texts.get(parts.path) ?? '';
  const relations = texts.get(parts.relationsPath) ?? '';
  const id = freeId(relations);
  return new Map([
    [TYPES_PATH, editTypes(types, newSheet, chain)],
    [parts.path, editWorkbook(workbook, { sheet, newSheet, id, range })],
    [parts.relationsPath, editRelations(relations, { sheet, newSheet, id })],
  ]);
}

function editTypes(xml: string, newSheet: NewSheet | undefined, chain: string | undefined): string {
  const elements = findElements(xml, 2);
  const edits: XmlEdit[] = [];
  for (const { attributes, start, end } of elements) {
    if (chain !== undefined && attributes['PartName'] === `/${chain}`) {
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
 * Puts a sheet behind another one. Numbers of later sheets are raised, as in names that apply to
 * one sheet only and in the active tab.
 */
function editWorkbook(
  xml: string,
  { sheet, newSheet, id, range }: WithId & { readonly range: string | undefined },
): string {
  const elements = findElements(xml, 3);
  const sheets = elements.filter(({ path }) => path === 'workbook/sheets/sheet');
  const at = sheets.findIndex(({ attributes }) => relationId(attributes)[1] === sheet.relationId);
  const before = sheets[at];
  if (!before) throw new Error('a sheet is not in its workbook');
  const edits: XmlEdit[] = [];
  for (const element of elements) {
    const { start, tagEnd, attributes } = element;
    const name = COUNTED[element.path];
    const place = name === undefined ? undefined : attributes[name];
    if (name === undefined || place === undefined) continue;
    if (newSheet && Number(place) > at) {
      const text = withAttribute(xml.slice(start, tagEnd), name, String(Number(place) + 1));
      edits.push({ start, end: tagEnd, text });
    }
    const isFilter = attributes['name'] === '_xlnm._FilterDatabase' && Number(place) === at;
    if (isFilter && range !== undefined && !element.isSelfClosing)
      edits.push(filterEdit(xml, element, range));
  }
  if (newSheet) {
    const [idName] = relationId(before.attributes);
    const ids = sheets.map(({ attributes }) => Number(attributes['sheetId']) || 0);
    const text = `<${before.prefix}sheet${namespacesOf(before)} name="${escapeXml(newSheet.name)}" sheetId="${Math.max(...ids) + 1}" ${idName}="${id}"/>`;
    edits.push({ start: before.end, end: before.end, text });
  }
  return editXml(xml, edits);
}

/** Elements that refer to sheets by their index. */
const COUNTED: Readonly<Record<string, string>> = {
  'workbook/definedNames/definedName': 'localSheetId',
  'workbook/bookViews/workbookView': 'activeTab',
};

/** A filter also has a defined name, which has to end where the filter ends. */
function filterEdit(xml: string, { tagEnd, end }: XmlElement, range: string): XmlEdit {
  const close = xml.lastIndexOf('<', end - 1);
  const was = xml.slice(tagEnd, close);
  const [, header, column, last] = /(\d+):([A-Z]+)(\d+)$/.exec(range) ?? [];
  const text = was.replace(/(\$\d+):\$[A-Z]+\$\d+$/, (all, row: string) =>
    row === `$${header}` ? `${row}:$${column}$${last}` : all,
  );
  return { start: tagEnd, end: close, text };
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
