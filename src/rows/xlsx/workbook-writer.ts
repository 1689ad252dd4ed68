import { BrandfillError } from '../../common/errors.ts';
import { columnName } from './cell-ref.ts';
import type { Workbook } from './open-workbook.ts';
import { foldPath, normalizePath, type Package, relationsPathOf } from './package.ts';
import type { SheetFrame } from './sheet-reader.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { addLongNumbers, stylesXml } from './styles.ts';
import {
  createFrame,
  editTexts,
  filteredRange,
  findUnfitFilter,
  fitFrame,
  type NewSheet,
  type WorkbookTexts,
} from './workbook-edit.ts';
import { declareUtf8, decodeWhole, escapeXml } from './xml.ts';
import {
  editXml,
  findElements,
  type SheetTable,
  withAttribute,
  type XmlEdit,
  type XmlElement,
} from './xml-edit.ts';
import { type PackedText, type StoredPart, writeZip, type ZipPart } from './zip-writer.ts';

/** The rows of a sheet, already written. */
export interface SheetContent {
  readonly name: string;
  readonly layout: SheetLayout;
  readonly rows: Pick<PackedText, 'end'>;
}

const NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE_RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';
const WORKSHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml';
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** The part that lists the types of all others. Some programs take it by this name only. */
const TYPES_PATH = '[Content_Types].xml';

/**
 * Makes sure that a workbook can be written again, before anything is paid for.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot
 */
export async function assertRewritable(workbook: Workbook): Promise<void> {
  const { pack, sheet, frame, place } = workbook;
  try {
    const newSheet = { name: 'failures', path: freePath(pack), type: WORKSHEET_TYPE };
    editTexts(await readTexts(workbook), { sheet, newSheet, chain: undefined });
    fitFrame(frame, {
      headerRow: place.header.number,
      lastRow: place.header.number,
      firstColumn: place.firstColumn,
      lastColumn: place.firstColumn,
      added: [],
      cutTexts: 0,
      widths: new Map(),
      domainColumn: place.firstColumn,
      lastOwnColumn: place.firstColumn,
      hidden: new Set(),
    });
    const changed = new Set([sheet.path, ...Object.values(pathsOfTexts(workbook))]);
    for (const path of pack.paths) if (!changed.has(path)) await storedPart(pack, path);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, why = message.replace(/\.$/, '')] =
      /no workbook \((.*)\); open it/.exec(message) ?? [];
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot write ${pack.name} again: its rows can be read, but its other parts are damaged (${why}); give an --out that ends in .csv, or open it in a spreadsheet program and save it again as XLSX.`,
      { cause: error },
    );
  }
}

/**
 * Writes a workbook as it was read, with other rows in the sheet of its list, and optionally one
 * more sheet behind all others. The bytes of all other parts are copied.
 */
export async function* rewriteWorkbook(
  workbook: Workbook,
  list: SheetContent,
  more: SheetContent | undefined,
): AsyncGenerator<Buffer> {
  const { pack, sheet, frame } = workbook;
  // The order in which formulas are calculated: programs determine it anew.
  const chain = pack.paths.find((path) => /(^|\/)calcChain\.xml$/i.test(path));
  const path = freePath(pack);
  const newSheet: NewSheet | undefined = more && { name: more.name, path, type: WORKSHEET_TYPE };
  const { layout } = list;
  const filter = filteredRange(frame, layout);
  const edit = { sheet, newSheet, chain, names: { layout, filter } };
  const texts = editTexts(await readTexts(workbook), edit);
  const paths = pathsOfTexts(workbook);
  const replaced = new Map<string, ZipPart>([
    [paths.types, { path: paths.types, text: texts.types }],
    [paths.workbook, { path: paths.workbook, text: texts.workbook }],
    [paths.relations, { path: paths.relations, text: texts.relations }],
    [sheet.path, sheetPart(sheet.path, fitFrame(frame, layout), list)],
  ]);
  for (const [path, text] of extendTable(workbook, layout)) replaced.set(path, { path, text });
  const styles = await stylesWithLongNumbers(workbook);
  if (styles) replaced.set(styles.path, styles);
  const nameOf = createNames(pack, texts.types);
  const parts: ZipPart[] = [];
  for (const path of pack.paths) {
    if (path === chain) continue;
    parts.push(named(replaced.get(path) ?? (await storedPart(pack, path)), nameOf(path)));
  }
  if (more) {
    const newFrame = createFrame(more.layout, { namespace: namespaceOf(frame), isShown: false });
    parts.push(sheetPart(path, newFrame, more));
  }
  yield* writeZip(parts);
}

/**
 * How a part is called in what is written: as the list of all parts spells it. Programs that write it
 * otherwise in the archive make workbooks that Excel opens and others do not.
 */
function createNames(pack: Package, types: string): (path: string) => string {
  const names = new Map<string, string>();
  const add = (name: string): void => {
    names.set(foldPath(name), name);
  };
  add(TYPES_PATH);
  add(relationsPathOf(''));
  for (const { attributes } of findElements(types, 2)) {
    if (attributes['PartName'] !== undefined) add(normalizePath(attributes['PartName']));
  }
  const nameOf = (path: string): string => {
    return names.get(foldPath(path)) ?? normalizePath(path);
  };
  for (const name of pack.paths.map(nameOf)) add(relationsPathOf(name));
  return nameOf;
}

function named(part: ZipPart, path: string): ZipPart {
  if (!('name' in part)) return { ...part, path };
  const name = Buffer.from(path);
  return part.name.equals(name) ? part : { ...part, name, flags: part.flags | NAME_IN_UTF8 };
}

const NAME_IN_UTF8 = 0x0800;

/**
 * Finds a table or a filter that sorts rows of the list without our columns, because there is
 * something in between.
 *
 * @returns its name; undefined in almost all workbooks
 */
export function findLeftBehind(workbook: Workbook, layout: SheetLayout): string | undefined {
  const table = findTableOfList(workbook, layout.domainColumn);
  const extended = findTableToExtend(workbook, layout);
  if (table && !extended) return `table '${table.name}'`;
  const filter = findUnfitFilter(workbook.frame, layout);
  if (!filter) return undefined;
  return extended && extended.firstColumn <= filter.firstColumn ? undefined : 'filter';
}

async function storedPart(pack: Package, path: string): Promise<StoredPart> {
  const part = await pack.store(path);
  if (!part) throw new Error(`the part ${path} is not where it should be`);
  return part;
}

/** Writes a new workbook. Its styles are those of another workbook if cells of that go in here. */
export async function* writeNewWorkbook(
  sheets: readonly SheetContent[],
  base: Workbook | undefined,
): AsyncGenerator<Buffer> {
  const namespace = base ? namespaceOf(base.frame) : NAMESPACE;
  const type = base?.sheet.relationType;
  const relations = type === undefined ? RELATIONS : type.slice(0, type.lastIndexOf('/'));
  const paths = sheets.map((_, at) => `worksheets/sheet${at + 1}.xml`);
  const { stylesPath, themePath, is1904 = false } = base?.parts ?? {};
  const hasTheme = base !== undefined && themePath !== undefined;
  const targets = [
    ...paths.map((target) => ({ kind: 'worksheet', target })),
    { kind: 'styles', target: 'styles.xml' },
    ...(hasTheme ? [{ kind: 'theme', target: 'theme/theme1.xml' }] : []),
  ];
  const overrides = [
    [
      '/xl/workbook.xml',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml',
    ],
    ...paths.map((path) => [`/xl/${path}`, WORKSHEET_TYPE]),
    ['/xl/styles.xml', 'application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml'],
    ...(hasTheme
      ? [['/xl/theme/theme1.xml', 'application/vnd.openxmlformats-officedocument.theme+xml']]
      : []),
  ].map(([path, type]) => `<Override PartName="${path}" ContentType="${type}"/>`);
  const tabs = sheets.map(
    ({ name }, at) => `<sheet name="${escapeXml(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
  );
  const calendar = is1904 ? '<workbookPr date1904="1"/>' : '';
  const parts: ZipPart[] = [
    {
      path: TYPES_PATH,
      text: `${XML}<Types xmlns="${TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`,
    },
    {
      path: '_rels/.rels',
      text: relationsXml(relations, [{ kind: 'officeDocument', target: 'xl/workbook.xml' }]),
    },
    {
      path: 'xl/workbook.xml',
      text: `${XML}<workbook xmlns="${namespace}" xmlns:r="${relations}">${calendar}<sheets>${tabs.join('')}</sheets></workbook>`,
    },
    { path: relationsPathOf('xl/workbook.xml'), text: relationsXml(relations, targets) },
    base && stylesPath !== undefined
      ? await stylesOf(base, stylesPath)
      : { path: 'xl/styles.xml', text: stylesXml(namespace) },
  ];
  if (base && themePath !== undefined) {
    const theme = await storedPart(base.pack, themePath);
    parts.push({ ...theme, name: Buffer.from('xl/theme/theme1.xml') });
  }
  for (const [at, sheet] of sheets.entries()) {
    const frame = createFrame(sheet.layout, { namespace, isShown: at === 0 });
    parts.push(sheetPart(`xl/${paths[at]}`, frame, sheet));
  }
  yield* writeZip(parts);
}

async function stylesOf(base: Workbook, stylesPath: string): Promise<ZipPart> {
  const path = 'xl/styles.xml';
  const changed = await stylesWithLongNumbers(base);
  if (changed) return { ...changed, path };
  return { ...(await storedPart(base.pack, stylesPath)), name: Buffer.from(path) };
}

/** The part with the styles, if there are long whole numbers in our cells; else it is as it was. */
async function stylesWithLongNumbers({ pack, parts, longNumbers }: Workbook) {
  const { stylesPath: path } = parts;
  if (path === undefined || !longNumbers.isTaken) return undefined;
  return { path, text: addLongNumbers(decodeWhole(await pack.readWhole(path))) };
}

/** The places of the parts that list the sheets. */
function pathsOfTexts({ pack, parts }: Workbook): WorkbookTexts {
  const types = pack.find(TYPES_PATH);
  if (types === undefined) throw new Error(`the part ${TYPES_PATH} is missing`);
  return { types, workbook: parts.path, relations: parts.relationsPath };
}

async function readTexts(workbook: Workbook): Promise<WorkbookTexts> {
  const paths = pathsOfTexts(workbook);
  const read = async (path: string): Promise<string> =>
    decodeWhole(await workbook.pack.readWhole(path));
  return {
    types: await read(paths.types),
    workbook: await read(paths.workbook),
    relations: await read(paths.relations),
  };
}

function sheetPart(
  path: string,
  { head, rowsTag, tail, prefix }: SheetFrame,
  { rows }: Pick<SheetContent, 'rows'>,
): ZipPart {
  return {
    path,
    head: `${declareUtf8(head)}${rowsTag}`,
    body: rows,
    tail: `</${prefix}sheetData>${tail}`,
  };
}

function relationsXml(
  namespace: string,
  targets: readonly { readonly kind: string; readonly target: string }[],
): string {
  const relations = targets.map(
    ({ kind, target }, at) =>
      `<Relationship Id="rId${at + 1}" Type="${namespace}/${kind}" Target="${target}"/>`,
  );
  return `${XML}<Relationships xmlns="${PACKAGE_RELATIONS}">${relations.join('')}</Relationships>`;
}

/** The namespace of a sheet: strict workbooks have a different one. */
function namespaceOf({ head, prefix }: SheetFrame): string {
  const name = prefix === '' ? 'xmlns' : `xmlns:${prefix.slice(0, -1)}`;
  return new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)`).exec(head)?.[1] ?? NAMESPACE;
}

function freePath(pack: Package): string {
  for (let count = 1; ; count += 1) {
    const path = `xl/worksheets/brandfill${count}.xml`;
    if (pack.find(path) === undefined) return path;
  }
}

/**
 * The table that the list is formatted as: it has the header of the list, and the domains in it. Any
 * other table beside the list has nothing to do with our columns.
 *
 * @param domainColumn from 0, as the sheet counts
 */
function findTableOfList(
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
function extendTable(workbook: Workbook, layout: SheetLayout): ReadonlyMap<string, string> {
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
function findTableToExtend(
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
