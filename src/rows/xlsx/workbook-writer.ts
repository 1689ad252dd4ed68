import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { escapeXml } from './escape-xml.ts';
import { extendTable } from './extend-table.ts';
import { stylesXml } from './new-styles.ts';
import type { Workbook } from './open-workbook.ts';
import { brokenUnless, type Package } from './package.ts';
import { relationsPathOf } from './parts.ts';
import { createFrame, findUnfitFilter, fitFrame, rangeOf } from './sheet-frame.ts';
import type { SheetFrame } from './sheet-reader.ts';
import type { SheetLayout } from './sheet-writer.ts';
import { editTexts, type NewSheet } from './workbook-edit.ts';
import { declareUtf8, decodeWhole } from './xml.ts';

/** The rows of a sheet, already written. */
export interface SheetContent {
  readonly name: string;
  readonly layout: SheetLayout;
  readonly read: () => AsyncIterable<Buffer>;
}

/** A part of the package that is written. */
interface OutputPart {
  readonly path: string;
  readonly content: Buffer | string | (() => AsyncIterable<Buffer>);
}

/** Constant, so that the same rows make the same bytes. */
const MTIME = new Date(1980, 0, 1);
/** Sheets compress to a tenth at any level; this level takes half the time of the default. */
const COMPRESSION_LEVEL = 4;

const NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE_RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';
const WORKSHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml';
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/**
 * Writes a workbook as it was read, with other rows in the sheet of its list, and optionally one
 * more sheet right behind it. All other parts are taken over as they are.
 */
export async function* rewriteWorkbook(
  workbook: Workbook,
  list: SheetContent,
  more: SheetContent | undefined,
): AsyncGenerator<Buffer> {
  const { pack, parts, sheet, frame } = workbook;
  const namespace = namespaceOf(frame);
  const replaced = new Map<string, OutputPart['content']>([
    [sheet.path, () => sheetXml(fitFrame(frame, list.layout), list.read())],
  ]);
  for (const [path, text] of extendTable(workbook, list.layout)) replaced.set(path, text);
  const added: OutputPart[] = [];
  // The order in which formulas are calculated: programs determine it anew.
  const chain = pack.paths.find((path) => /(^|\/)calcChain\.xml$/.test(path));
  const path = freePath(pack);
  if (more) {
    const newFrame = createFrame(more.layout, { namespace, isShown: false });
    added.push({ path, content: () => sheetXml(newFrame, more.read()) });
  }
  const newSheet: NewSheet | undefined = more && { name: more.name, path, type: WORKSHEET_TYPE };
  const range = findUnfitFilter(frame, list.layout) ? undefined : rangeOf(list.layout);
  const edit = { sheet, parts, newSheet, chain, range };
  const edited = await brokenUnless(pack.name, async () => {
    return editTexts(await readTexts(workbook), edit);
  });
  for (const [path, text] of edited) replaced.set(path, text);
  const kept = pack.paths.filter((path) => path !== chain);
  const all = kept.map((path): OutputPart => {
    return { path, content: replaced.get(path) ?? (() => pack.read(path)) };
  });
  yield* zip([...all, ...added]);
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
  yield* zip([
    {
      path: '[Content_Types].xml',
      content: `${XML}<Types xmlns="${TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`,
    },
    {
      path: '_rels/.rels',
      content: relationsXml(relations, [{ kind: 'officeDocument', target: 'xl/workbook.xml' }]),
    },
    {
      path: 'xl/workbook.xml',
      content: `${XML}<workbook xmlns="${namespace}" xmlns:r="${relations}">${calendar}<sheets>${tabs.join('')}</sheets></workbook>`,
    },
    { path: relationsPathOf('xl/workbook.xml'), content: relationsXml(relations, targets) },
    {
      path: 'xl/styles.xml',
      content:
        base && stylesPath !== undefined ? () => base.pack.read(stylesPath) : stylesXml(namespace),
    },
    ...(base && themePath !== undefined
      ? [{ path: 'xl/theme/theme1.xml', content: () => base.pack.read(themePath) }]
      : []),
    ...sheets.map(({ layout, read }, at) => ({
      path: `xl/${paths[at]}`,
      content: () => sheetXml(createFrame(layout, { namespace, isShown: at === 0 }), read()),
    })),
  ]);
}

/** The texts that list the sheets. */
async function readTexts({ pack, parts }: Workbook): Promise<ReadonlyMap<string, string>> {
  const paths = ['[Content_Types].xml', parts.path, parts.relationsPath];
  const texts = paths.map(async (path) => [path, decodeWhole(await pack.readWhole(path))] as const);
  return new Map(await Promise.all(texts));
}

async function* sheetXml(
  { head, rowsTag, tail, prefix }: SheetFrame,
  rows: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${declareUtf8(head)}${rowsTag}`);
  yield* rows;
  yield Buffer.from(`</${prefix}sheetData>${tail}`);
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
    if (!pack.has(path)) return path;
  }
}

async function* zip(parts: readonly OutputPart[]): AsyncGenerator<Buffer> {
  const file = new ZipFile();
  const output = file.outputStream as Readable;
  const fail = (error: Error): void => void output.destroy(error);
  file.on('error', fail);
  let source: Readable | undefined;
  const options = { mtime: MTIME, forceDosTimestamp: true, compressionLevel: COMPRESSION_LEVEL };
  for (const { path, content } of parts) {
    if (typeof content === 'function') {
      file.addReadStreamLazy(path, options, (give) => {
        // The library does not listen for errors of the streams that it is given.
        source = Readable.from(content(), { objectMode: false }).on('error', fail);
        give(undefined, source);
      });
    } else file.addBuffer(Buffer.from(content), path, options);
  }
  file.end();
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } finally {
    output.destroy();
    await end(source);
  }
}

/** The source may be closed then. */
async function end(source: Readable | undefined): Promise<void> {
  if (!source || source.closed) return;
  await new Promise((resolve) => source.once('close', resolve).destroy());
}
