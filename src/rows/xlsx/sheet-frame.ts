import { columnName, columnOfRef, MOST_COLUMNS } from './cell-ref.ts';
import type { SheetFrame } from './sheet-reader.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { findElements, withAttribute } from './xml-edit.ts';

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
