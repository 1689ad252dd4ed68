import { columnName, columnOfRef, MOST_COLUMNS } from './cell-ref.ts';
import { normalizePath, type SheetPart } from './package.ts';
import type { SheetFrame } from './sheet-reader.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { escapeXml } from './xml.ts';
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

/** A frozen header further down than this would leave no room for rows. */
const MOST_FROZEN_ROWS = 20;

/** One element under the root of a sheet. */
interface Part {
  readonly name: string;
  readonly xml: string;
}

/** Makes the parts around the rows of a new sheet. */
export function createFrame(
  layout: SheetLayout,
  { namespace, isShown }: { readonly namespace: string; readonly isShown: boolean },
): SheetFrame {
  const shown = isShown ? ' tabSelected="1"' : '';
  const view = `<sheetView${shown} workbookViewId="0">${paneXml(layout.headerRow, '')}</sheetView>`;
  return {
    prefix: '',
    rowsTag: '<sheetData>',
    head:
      `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="${namespace}">` +
      `<sheetViews>${view}</sheetViews><sheetFormatPr defaultRowHeight="15"/>` +
      `<cols>${inOrder(layout.widths)
        .map(([column, width]) => columnXml(column, width, '', layout.hidden.has(column)))
        .join('')}</cols>`,
    tail: `<autoFilter ref="${rangeOf(layout)}"/></worksheet>`,
  };
}

/**
 * Fits the parts around the rows of a sheet to our columns: the columns get a width and are part of
 * the filter, and the header is frozen unless the sheet is frozen otherwise. The rest stays as it
 * is.
 */
export function fitFrame(frame: SheetFrame, layout: SheetLayout): SheetFrame {
  const { prefix } = frame;
  const { start, head, tail } = cutFrame(frame);
  return {
    ...frame,
    head: start + textOf(fitColumns(freeze(withoutSize(head), layout, prefix), layout, prefix)),
    tail: `${textOf(fitFilter(tail, layout, prefix))}</${prefix}worksheet>`,
  };
}

/**
 * Finds a filter of the list that cannot be extended over our columns, because there is a table on
 * the sheet.
 *
 * @returns the column where it begins, from 0
 */
export function findUnfitFilter(
  frame: SheetFrame,
  layout: SheetLayout,
): { readonly firstColumn: number } | undefined {
  const { tail } = cutFrame(frame);
  const filter = findFilter(tail);
  return filter && hasTables(tail) && isOfList(filter, layout) ? filter : undefined;
}

/** The range of the filter over the list, with our columns; undefined when it has none. */
export function filteredRange(frame: SheetFrame, layout: SheetLayout): string | undefined {
  const { tail } = cutFrame(frame);
  if (hasTables(tail)) return undefined;
  const filter = findFilter(tail);
  if (!filter) return rangeOf(layout);
  return isOfList(filter, layout) ? extendedRange(filter, layout) : undefined;
}

function cutFrame({ head, tail, prefix }: SheetFrame) {
  const root = findElements(`${head}</${prefix}worksheet>`, 1)[0];
  const rootEnd = root?.tagEnd ?? 0;
  const rootTag = head.slice(root?.start ?? 0, rootEnd);
  return {
    start: head.slice(0, rootEnd),
    head: cutParts(rootTag, `${head.slice(rootEnd)}</${prefix}worksheet>`),
    tail: cutParts(rootTag, tail),
  };
}

/** @param rest ends with the closing tag of the root */
function cutParts(rootTag: string, rest: string): readonly Part[] {
  const xml = rootTag + rest;
  return findElements(xml, 2)
    .filter(({ path }) => path.includes('/'))
    .map(({ local, start, end }) => ({ name: local, xml: xml.slice(start, end) }));
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ xml }) => xml).join('');
}

/** Removes the size of the sheet, which is optional and would no longer be right. */
function withoutSize(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ name }) => name !== 'dimension');
}

function freeze(
  parts: readonly Part[],
  { headerRow }: SheetLayout,
  prefix: string,
): readonly Part[] {
  if (headerRow > MOST_FROZEN_ROWS) return parts;
  const at = parts.findIndex(({ name }) => name === 'sheetViews');
  const pane = paneXml(headerRow, prefix);
  if (at === -1) {
    const view = `<${prefix}sheetView workbookViewId="0">${pane}</${prefix}sheetView>`;
    const views = { name: 'sheetViews', xml: `<${prefix}sheetViews>${view}</${prefix}sheetViews>` };
    const before = parts.filter(({ name }) => name === 'sheetPr').length;
    return [...parts.slice(0, before), views, ...parts.slice(before)];
  }
  const { xml = '' } = parts[at] ?? {};
  const first = findElements(xml, 2).find(({ local }) => local === 'sheetView');
  const view = first && xml.slice(first.start, first.end);
  if (!first || !view || /<(?:[\w.-]+:)?pane[\s/]/.test(view)) return parts;
  if (first.attributes['view'] === 'pageLayout') return parts; // has no panes
  const tag = xml.slice(first.start, first.tagEnd).replace(/\s*\/>$/, '>');
  const scrolled = tag.replace(/\stopLeftCell\s*=\s*(?:"[^"]*"|'[^']*')/, '');
  const frozen = `${scrolled}${pane}</${prefix}sheetView>`;
  const views = xml.slice(0, first.start) + frozen + xml.slice(first.end);
  return parts.with(at, { name: 'sheetViews', xml: views });
}

function paneXml(headerRow: number, prefix: string): string {
  return (
    `<${prefix}pane ySplit="${headerRow}" topLeftCell="A${headerRow + 1}" activePane="bottomLeft" state="frozen"/>` +
    `<${prefix}selection pane="bottomLeft" activeCell="A${headerRow + 1}" sqref="A${headerRow + 1}"/>`
  );
}

/** In order of their columns, as programs expect them. */
function inOrder(widths: SheetLayout['widths']): readonly (readonly [number, number])[] {
  return [...widths].sort(([one], [other]) => one - other);
}

function columnXml(column: number, width: number, prefix: string, isHidden = false): string {
  const place = column + 1;
  const hidden = isHidden ? ' hidden="1"' : '';
  return `<${prefix}col min="${place}" max="${place}" width="${width}" customWidth="1"${hidden}/>`;
}

/**
 * Gives our columns their widths, and removes them from ranges that the sheet has for other
 * columns.
 */
function fitColumns(
  parts: readonly Part[],
  { widths }: SheetLayout,
  prefix: string,
): readonly Part[] {
  const ours = [...widths.keys()].map((column) => column + 1);
  const first = Math.min(...ours);
  const last = Math.max(...ours);
  if (ours.length === 0) return parts;
  const at = parts.findIndex(({ name }) => name === 'cols');
  const { xml = '' } = parts[at] ?? {};
  const columns: { place: number; xml: string }[] = [];
  for (const column of at === -1 ? [] : findElements(xml, 2)) {
    if (column.local !== 'col') continue;
    const tag = xml.slice(column.start, column.tagEnd);
    const min = Number(column.attributes['min']);
    const max = Math.min(MOST_COLUMNS, Number(column.attributes['max']));
    for (const [from, to] of [
      [min, Math.min(max, first - 1)],
      [Math.max(min, last + 1), max],
    ] as const) {
      if (from > to) continue;
      const cut = withAttribute(withAttribute(tag, 'min', String(from)), 'max', String(to));
      columns.push({ place: from, xml: cut.endsWith('/>') ? cut : cut.replace(/>$/, '/>') });
    }
  }
  for (const [column, width] of widths) {
    columns.push({ place: column + 1, xml: columnXml(column, width, prefix) });
  }
  columns.sort((one, other) => one.place - other.place);
  const text = columns.map((column) => column.xml).join('');
  const cols = { name: 'cols', xml: `<${prefix}cols>${text}</${prefix}cols>` };
  return at === -1 ? [...parts, cols] : parts.with(at, cols);
}

/** Elements that may be between the rows and the filter. */
const BEFORE_FILTER: ReadonlySet<string> = new Set([
  'sheetCalcPr',
  'sheetProtection',
  'protectedRanges',
  'scenarios',
]);

/** A sheet has one filter; a table on it has its own, which must not overlap. */
function fitFilter(parts: readonly Part[], layout: SheetLayout, prefix: string): readonly Part[] {
  if (hasTables(parts)) return parts;
  const filter = findFilter(parts);
  if (!filter) {
    const before = parts.filter(({ name }) => BEFORE_FILTER.has(name)).length;
    const added = { name: 'autoFilter', xml: `<${prefix}autoFilter ref="${rangeOf(layout)}"/>` };
    return [...parts.slice(0, before), added, ...parts.slice(before)];
  }
  if (!isOfList(filter, layout)) return parts;
  const { at, tag } = filter;
  const { xml = '' } = parts[at] ?? {};
  return parts.with(at, {
    name: 'autoFilter',
    xml: withAttribute(tag, 'ref', extendedRange(filter, layout)) + xml.slice(tag.length),
  });
}

interface Filter {
  /** Its place among the parts, and its opening tag. */
  readonly at: number;
  readonly tag: string;
  readonly firstColumn: number;
  readonly lastColumn: number;
  readonly firstRow: number;
  readonly lastRow: number;
}

function findFilter(parts: readonly Part[]): Filter | undefined {
  const at = parts.findIndex(({ name }) => name === 'autoFilter');
  const tag = /^<[^>]*>/.exec(parts[at]?.xml ?? '')?.[0] ?? '';
  const [, from = '', firstRow, to = from, lastRow = firstRow] =
    /\sref\s*=\s*["']\$?([A-Z]+)\$?(\d+)(?::\$?([A-Z]+)\$?(\d+))?/.exec(tag) ?? [];
  if (firstRow === undefined) return undefined;
  const columns = { firstColumn: columnOfRef(from), lastColumn: columnOfRef(to) };
  return { at, tag, ...columns, firstRow: Number(firstRow), lastRow: Number(lastRow) };
}

/** Whether a filter is in the header of the list, and the domains in it; else it is of other cells. */
function isOfList(
  { firstRow, firstColumn, lastColumn }: Filter,
  { headerRow, domainColumn }: SheetLayout,
): boolean {
  return firstRow === headerRow && firstColumn <= domainColumn && domainColumn <= lastColumn;
}

/** Its rows are the user's choice. */
function extendedRange(filter: Filter, { lastColumn }: SheetLayout): string {
  const { firstColumn, firstRow, lastRow } = filter;
  return `${columnName(firstColumn)}${firstRow}:${columnName(lastColumn)}${lastRow}`;
}

function hasTables(parts: readonly Part[]): boolean {
  return parts.some(({ name }) => name === 'tableParts');
}

/** `A1:F20`: the list with its header. */
function rangeOf({ headerRow, lastRow, firstColumn, lastColumn }: SheetLayout): string {
  return `${columnName(firstColumn)}${headerRow}:${columnName(lastColumn)}${lastRow}`;
}
