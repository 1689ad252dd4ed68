import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { Entry } from 'yauzl';
import yauzl from 'yauzl';
import { BrandfillError } from '../../common/errors.ts';
import { unreadable } from '../source.ts';
import { readXml, relationIn, textOf } from './xml.ts';

/** The parts of a workbook: the files in its ZIP archive. */
export type Package = Awaited<ReturnType<typeof openPackage>>;

/** All parts together, decompressed. A million rows of twenty columns take about one GB. */
const MOST_BYTES = 4_000_000_000;
/**
 * Over all parts, as a bomb may be in many of them. Sheets of nothing but equal rows are 11 to 21
 * times as large. A package below `HARMLESS_BYTES` may repeat itself as often as it likes.
 */
const MOST_RATIO = 200;
const HARMLESS_BYTES = 32_000_000;
/** The largest part that is held as text. Lists of 65,530 links take 13 MB, 64,000 formats 8. */
const MOST_TEXT_BYTES = 200_000_000;

/**
 * Opens the archive of a workbook. The handle stays open, and belongs to the caller.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, or blows up when it is decompressed
 */
export async function openPackage(handle: FileHandle, name: string) {
  /** By their folded paths. */
  const entries = new Map<string, { readonly path: string; readonly entry: Entry }>();
  const at = (path: string) => entries.get(foldPath(path));
  // The library refuses names with a leading slash, which some programs write.
  const zip = await yauzl.fromFdPromise(handle.fd, { decodeStrings: false });
  let sizeBytes = 0;
  let packedBytes = 0;
  for await (const entry of zip.eachEntry()) {
    sizeBytes += entry.uncompressedSize;
    packedBytes += entry.compressedSize;
    if (sizeBytes > MOST_BYTES) throw tooLarge(name, `larger than ${MOST_BYTES / 1e9} GB`);
    const { generalPurposeBitFlag: flag, fileNameRaw, extraFields } = entry;
    const path = yauzl.getFileNameLowLevel(flag, fileNameRaw, extraFields, false);
    if (!path.endsWith('/') && !at(path)) entries.set(foldPath(path), { path, entry });
  }
  // The sizes that the archive declares; a false one is found out when its part is read.
  const ratio = Math.round(sizeBytes / Math.max(1, packedBytes));
  if (sizeBytes > HARMLESS_BYTES && ratio > MOST_RATIO) {
    throw tooLarge(name, `${ratio} times as large as it is, as in a ZIP bomb`);
  }

  /**
   * Reads a part, decompressed.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when it is missing, damaged or longer than it says
   */
  async function* read(path: string): AsyncGenerator<Buffer> {
    let stream: Readable | undefined;
    try {
      const { entry } = at(path) ?? {};
      if (!entry) throw new Error(`the part ${path} is missing`);
      stream = await zip.openReadStreamPromise(entry);
      const chunks = stream as AsyncIterable<Buffer>;
      yield* /\.(?:xml|rels)$/i.test(path) ? inUtf8(chunks) : chunks;
    } catch (error) {
      throw asBroken(name, error);
    } finally {
      stream?.destroy();
    }
  }

  return {
    /** The name of the workbook in messages. */
    name,
    /** Paths of all parts, in the order of the archive. Their case is that of the archive. */
    paths: Array.from(entries.values(), ({ path }) => path),
    /**
     * The path of a part as {@link paths} has it, whatever the case and the slashes of the one
     * given.
     */
    find: (path: string): string | undefined => at(path)?.path,
    read,
    /** Reads a part that is small by nature, as text. */
    readText: async (path: string): Promise<string> => {
      if ((at(path)?.entry.uncompressedSize ?? 0) > MOST_TEXT_BYTES) {
        throw tooLarge(name, `more than ${MOST_TEXT_BYTES / 1e6} MB in the part ${path} alone`);
      }
      let text = '';
      for await (const chunk of textOf(read(path))) text += chunk;
      return text.replace(/^\uFEFF/, '');
    },
  };
}

/** Turns XML in UTF-16 into UTF-8, by its byte order mark; all else stays as it is. */
async function* inUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let encoding: string | undefined;
  let decoder = new TextDecoder();
  for await (const chunk of chunks) {
    const isFirst = encoding === undefined;
    if (isFirst) {
      encoding = { ÿþ: 'utf-16le', þÿ: 'utf-16be' }[chunk.toString('latin1', 0, 2)] ?? '';
      decoder = new TextDecoder(encoding || 'utf-8');
    }
    if (encoding === '') yield chunk;
    else {
      const text = decoder.decode(chunk, { stream: true });
      yield Buffer.from(isFirst ? text.replace(DECLARED, '$1UTF-8') : text);
    }
  }
}

const DECLARED = /(<\?xml[^>]*encoding=["'])[^"']*/i;

/** A path in a package without `..`, doubled or leading slashes; backslashes are slashes. */
export function normalizePath(path: string): string {
  return posix.join('/', path.replaceAll('\\', '/')).slice(1);
}

/**
 * The names of parts are equal without regard to case. What refers to them are URIs, in which a
 * space is `%20`, and some programs write it as a space in the archive.
 */
function foldPath(path: string): string {
  const folded = normalizePath(path).toLowerCase();
  try {
    return decodeURIComponent(folded);
  } catch {
    return folded;
  }
}

/**
 * What went wrong with the content of a file, as the message that it is no workbook, or no longer a
 * whole one.
 */
export function asBroken(name: string, error: unknown): BrandfillError {
  if (error instanceof BrandfillError) return error;
  const message = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  const why = /comment length/i.test(message) ? 'there are other bytes behind its end' : message;
  return unreadable(
    name,
    `it is damaged, or no workbook (${why}); open it in a spreadsheet program and save it again as XLSX`,
    error,
  );
}

/** The refusal of a workbook that would cost too much, which is not damaged for that. */
export function tooLarge(name: string, how: string): BrandfillError {
  return unreadable(
    name,
    `decompressed it is too large (${how}); save the sheet of the list as CSV`,
  );
}

/** More sheets than these, or parts that belong to one, are refused. */
const MOST_SHEETS = 10_000;

/** A sheet of a workbook. */
export interface SheetPart {
  readonly name: string;
  /** Its place among the tabs, from 0, those without rows included. */
  readonly index: number;
  /** The path of its rows in the package. */
  readonly path: string;
  readonly isHidden: boolean;
}

/** A reference from one part to another. */
export interface Relation {
  readonly id: string;
  /** The last word of its type, such as `worksheet`. */
  readonly kind: string;
  /** A path in the package, as it has it if there is such a part; anything for an external one. */
  readonly target: string;
  readonly isExternal: boolean;
}

/** @throws BrandfillError `UNREADABLE_INPUT` when it is no workbook, or parts of it are missing */
export async function readWorkbookParts(pack: Package) {
  const roots = await readRelations(pack, '');
  const root = roots.find(({ kind }) => kind === 'officeDocument')?.target;
  const path = root === undefined ? undefined : pack.find(root);
  if (path === undefined) throw new Error('there is no workbook in it');
  const relations = await readRelations(pack, path);
  const byId = new Map(relations.map((relation) => [relation.id, relation]));
  const pathOf = (wanted: string): string | undefined =>
    relations.find(({ kind, target }) => kind === wanted && pack.find(target) !== undefined)
      ?.target;
  /** Sheets with rows, in the order of their tabs. */
  const sheets: SheetPart[] = [];
  let tabs = 0;
  let is1904 = false;
  readXml(await pack.readText(path), {
    open: ({ local, attributes }) => {
      const { date1904 = '', name = '', state = 'visible' } = attributes;
      // Extensions also have elements of this name.
      if (local === 'workbookPr') is1904 ||= /^(1|true)$/.test(date1904);
      if (local !== 'sheet') return;
      const index = tabs;
      tabs += 1;
      if (tabs > MOST_SHEETS) throw tooLarge(pack.name, `more than ${MOST_SHEETS} sheets`);
      const relation = byId.get(relationIn(attributes) ?? '');
      if (relation?.kind !== 'worksheet') return; // a chart has no rows
      sheets.push({ name, index, path: relation.target, isHidden: state !== 'visible' });
    },
  });
  const [stylesPath, stringsPath] = [pathOf('styles'), pathOf('sharedStrings')];
  return { workbookPath: path, sheets, is1904, stylesPath, stringsPath };
}

/** The references of a part; empty for most parts. */
export async function readRelations(pack: Package, path: string): Promise<readonly Relation[]> {
  // `xl/workbook.xml` has its references in `xl/_rels/workbook.xml.rels`.
  const cut = path.lastIndexOf('/') + 1;
  const folder = path.slice(0, cut);
  const relationsPath = pack.find(`${folder}_rels/${path.slice(cut)}.rels`);
  if (relationsPath === undefined) return [];
  const found: Relation[] = [];
  readXml(await pack.readText(relationsPath), {
    open: ({ local, attributes }) => {
      if (local !== 'Relationship') return;
      const { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode } = attributes;
      const isExternal = mode === 'External';
      const inside = normalizePath((/^[\\/]/.test(target) ? '' : folder) + target);
      found.push({
        id,
        kind: type.slice(type.lastIndexOf('/') + 1),
        target: isExternal ? target : (pack.find(inside) ?? inside),
        isExternal,
      });
    },
  });
  return found;
}
