import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import type { Entry } from 'yauzl';
import yauzl from 'yauzl';
import { BrandfillError } from '../../common/errors.ts';
import { attributeOf, decodeWhole, readXml } from './xml.ts';
import type { StoredPart } from './zip-writer.ts';

/** The parts of a workbook: the files in its ZIP archive. */
export interface Package {
  /** The name of the workbook in messages. */
  readonly name: string;
  /** Paths of all parts, in the order of the archive. Their case is that of the archive. */
  readonly paths: readonly string[];
  /**
   * The path of a part, as {@link paths} has it, whatever the case and the slashes of the one given;
   * undefined when there is no such part.
   */
  find(path: string): string | undefined;
  /**
   * Reads a part, decompressed.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when it is missing, damaged or longer than it says
   */
  read(path: string): AsyncIterable<Buffer>;
  /** Reads a part that is small by nature, whole. */
  readWhole(path: string): Promise<Buffer>;
  /** A part as it is in the archive, to be copied; undefined when its bytes are not there. */
  store(path: string): Promise<StoredPart | undefined>;
}

/** All parts together, decompressed. A million rows of twenty columns take about one GB. */
const MOST_BYTES = 4_000_000_000;
/**
 * Over all parts, as a bomb may be in many of them. Sheets of nothing but equal rows are 11 to 21 times
 * as large, with the numbers that programs write into each cell. A package below `HARMLESS_BYTES` may
 * repeat itself as often as it likes.
 */
const MOST_RATIO = 200;
const HARMLESS_BYTES = 32_000_000;
const MOST_PARTS = 20_000;
/** The largest part that is read whole; lists of links and styles get this long. */
const MOST_WHOLE_BYTES = 48_000_000;

/**
 * Opens the archive of a workbook. The handle stays open, and belongs to the caller.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, or blows up when it is decompressed
 */
export async function openPackage(handle: FileHandle, name: string): Promise<Package> {
  const entries = new Map<string, Entry>();
  /** Paths by their folded form. */
  const paths = new Map<string, string>();
  const find = (path: string): string | undefined => paths.get(foldPath(path));
  // The library refuses names with a leading slash, which some programs write.
  const zip = await brokenUnless(name, () =>
    yauzl.fromFdPromise(handle.fd, { decodeStrings: false }),
  );
  await brokenUnless(name, async () => {
    let sizeBytes = 0;
    let packedBytes = 0;
    for await (const entry of zip.eachEntry()) {
      sizeBytes += entry.uncompressedSize;
      packedBytes += entry.compressedSize;
      if (sizeBytes > MOST_BYTES || entries.size >= MOST_PARTS) {
        throw bomb(
          name,
          `larger than ${MOST_BYTES / 1e9} GB, or have more than ${MOST_PARTS} parts`,
        );
      }
      const path = pathOf(entry);
      if (path.endsWith('/') || find(path) !== undefined) continue;
      paths.set(foldPath(path), path);
      entries.set(path, entry);
    }
    // The sizes that the archive declares; a false one is found out when its part is read.
    const ratio = Math.round(sizeBytes / Math.max(1, packedBytes));
    if (sizeBytes > HARMLESS_BYTES && ratio > MOST_RATIO) {
      throw bomb(name, `${ratio} times as large as it is`);
    }
  });

  async function* read(path: string): AsyncGenerator<Buffer> {
    const entry = entries.get(path);
    if (!entry) throw brokenWorkbook(name, `the part ${path} is missing`);
    const isDeflated = entry.compressionMethod === DEFLATED && !entry.isEncrypted();
    let stream: Readable | undefined;
    try {
      stream = await zip.openReadStreamPromise(entry, { decodeFileData: !isDeflated });
      if (isDeflated) yield* inflate(stream, entry);
      else for await (const chunk of stream) yield chunk as Buffer;
    } catch (error) {
      throw asBroken(name, error);
    } finally {
      stream?.destroy();
    }
  }

  return {
    name,
    paths: [...entries.keys()],
    find,
    read,
    readWhole: async (path) => {
      const sizeBytes = entries.get(path)?.uncompressedSize ?? 0;
      if (sizeBytes > MOST_WHOLE_BYTES) {
        throw brokenWorkbook(name, `the part ${path} is larger than ${MOST_WHOLE_BYTES / 1e6} MB`);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of read(path)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    store: async (path) => {
      const entry = entries.get(path);
      if (!entry) return undefined;
      const header = await zip.readLocalFileHeaderPromise(entry, { minimal: true }).catch(() => {});
      const { size } = await handle.stat();
      if (!header || header.fileDataStart + entry.compressedSize > size) return undefined;
      return {
        name: entry.fileNameRaw,
        flags: entry.generalPurposeBitFlag,
        method: entry.compressionMethod,
        time: entry.lastModFileTime,
        date: entry.lastModFileDate,
        crc: entry.crc32,
        sizeBytes: entry.uncompressedSize,
        packedBytes: entry.compressedSize,
        read: async function* () {
          const stream = await zip.openReadStreamPromise(entry, { decodeFileData: false });
          for await (const chunk of stream) yield chunk as Buffer;
        },
      };
    },
  };
}

const DEFLATED = 8;
/** The library inflates 16 KB at a time, and each piece is a turn of the event loop. */
const INFLATED_BYTES = 128 * 1024;

async function* inflate(
  packed: Readable,
  { uncompressedSize }: Pick<Entry, 'uncompressedSize'>,
): AsyncGenerator<Buffer> {
  const inflater = createInflateRaw({ chunkSize: INFLATED_BYTES });
  pipeline(packed, inflater).catch(() => {}); // it is thrown by the stream that is read, too
  let sizeBytes = 0;
  try {
    for await (const chunk of inflater) {
      sizeBytes += (chunk as Buffer).length;
      if (sizeBytes > uncompressedSize) break;
      yield chunk as Buffer;
    }
  } finally {
    inflater.destroy();
  }
  if (sizeBytes === uncompressedSize) return;
  const much = sizeBytes > uncompressedSize ? 'too many' : 'not enough';
  throw new Error(`${much} bytes in the stream: expected ${uncompressedSize}`);
}

function pathOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  return yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
}

/** A path in a package without `..`, doubled or leading slashes; backslashes are slashes. */
export function normalizePath(path: string): string {
  const steps: string[] = [];
  for (const step of path.split(/[\\/]/)) {
    if (step === '..') steps.pop();
    else if (step !== '.' && step !== '') steps.push(step);
  }
  return steps.join('/');
}

/**
 * The names of parts are equal without regard to case. What refers to them are URIs, in which a space
 * is `%20`, and some programs write it as a space in the archive.
 */
export function foldPath(path: string): string {
  const folded = normalizePath(path).toLowerCase();
  if (!folded.includes('%')) return folded;
  try {
    return decodeURIComponent(folded);
  } catch {
    return folded;
  }
}

/** The message for a file that is no workbook, or no longer a whole one. */
export function brokenWorkbook(name: string, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: it is damaged, or no workbook (${why}); open it in a spreadsheet program and save it again as XLSX.`,
    { cause },
  );
}

/** Turns a library's error about a damaged file into a sentence of ours. */
function asBroken(name: string, error: unknown): BrandfillError {
  if (error instanceof BrandfillError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return brokenWorkbook(name, why.replace(/\.$/, ''), error);
}

/** Reports errors in the parts of a workbook as errors of the workbook. */
async function brokenUnless<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asBroken(name, error);
  }
}

function bomb(name: string, how: string): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: decompressed it would be ${how}, as in a ZIP bomb; if it is a real list, save the sheet as CSV.`,
  );
}

/** A sheet of a workbook. */
export interface SheetPart {
  readonly name: string;
  /** The path of its rows in the package. */
  readonly path: string;
  readonly isHidden: boolean;
  /** How the workbook refers to it. */
  readonly relationId: string;
  /** The full type of that reference: strict workbooks have different ones. */
  readonly relationType: string;
}

/** The places of things in a package. */
export interface WorkbookParts {
  readonly path: string;
  readonly relationsPath: string;
  /** Sheets with rows, in the order of their tabs. */
  readonly sheets: readonly SheetPart[];
  /** Names of all tabs, including those of charts. */
  readonly names: readonly string[];
  readonly is1904: boolean;
  readonly stylesPath: string | undefined;
  readonly themePath: string | undefined;
  readonly stringsPath: string | undefined;
}

/** A reference from one part to another. */
export interface Relation {
  readonly id: string;
  /** The last word of its type, such as `worksheet`. */
  readonly kind: string;
  readonly type: string;
  /** A path in the package, as it has it if there is such a part; anything for an external one. */
  readonly target: string;
  readonly isExternal: boolean;
}

/** @throws BrandfillError `UNREADABLE_INPUT` when it is no workbook, or parts of it are missing */
export async function readWorkbookParts(pack: Package): Promise<WorkbookParts> {
  const roots = await readRelations(pack, '');
  const root = roots.find(({ kind }) => kind === 'officeDocument')?.target;
  const path = root === undefined ? undefined : pack.find(root);
  if (path === undefined) throw brokenWorkbook(pack.name, 'there is no workbook in it');
  const relations = await readRelations(pack, path);
  const pathOf = (wanted: string): string | undefined =>
    relations.find(({ kind, target }) => kind === wanted && pack.find(target) !== undefined)
      ?.target;
  const byId = new Map(relations.map((relation) => [relation.id, relation]));
  const sheets: SheetPart[] = [];
  const names: string[] = [];
  let is1904 = false;
  readXml(decodeWhole(await pack.readWhole(path)), {
    open: (tag) => {
      // Extensions also have elements of this name.
      if (tag.local === 'workbookPr') is1904 ||= isTrue(attributeOf(tag, 'date1904'));
      if (tag.local !== 'sheet') return;
      names.push(attributeOf(tag, 'name') ?? '');
      const id = relationIdOf(tag.attributes);
      const relation = id === undefined ? undefined : byId.get(id);
      if (relation?.kind !== 'worksheet') return; // a chart has no rows
      sheets.push({
        name: attributeOf(tag, 'name') ?? '',
        path: relation.target,
        isHidden: (attributeOf(tag, 'state') ?? 'visible') !== 'visible',
        relationId: relation.id,
        relationType: relation.type,
      });
    },
  });
  const relationsPath = pack.find(relationsPathOf(path)) ?? relationsPathOf(path);
  return {
    path,
    relationsPath,
    sheets,
    names,
    is1904,
    stylesPath: pathOf('styles'),
    themePath: pathOf('theme'),
    stringsPath: pathOf('sharedStrings'),
  };
}

/** `id` in a namespace, whatever its prefix: `r:id`. */
function relationIdOf(attributes: Readonly<Record<string, string>>): string | undefined {
  const name = Object.keys(attributes).find((name) => name.endsWith(':id'));
  return name === undefined ? undefined : attributes[name];
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true';
}

/** The references of a part; empty for most parts. */
export async function readRelations(pack: Package, path: string): Promise<readonly Relation[]> {
  const relationsPath = pack.find(relationsPathOf(path));
  if (relationsPath === undefined) return [];
  const found: Relation[] = [];
  readXml(decodeWhole(await pack.readWhole(relationsPath)), {
    open: (tag) => {
      if (tag.local !== 'Relationship') return;
      const type = attributeOf(tag, 'Type') ?? '';
      const target = attributeOf(tag, 'Target') ?? '';
      const isExternal = attributeOf(tag, 'TargetMode') === 'External';
      found.push({
        id: attributeOf(tag, 'Id') ?? '',
        kind: type.slice(type.lastIndexOf('/') + 1),
        type,
        target: isExternal ? target : findTarget(pack, path, target),
        isExternal,
      });
    },
  });
  return found;
}

/** `xl/workbook.xml` has its references in `xl/_rels/workbook.xml.rels`. */
export function relationsPathOf(path: string): string {
  const cut = path.lastIndexOf('/') + 1;
  return `${path.slice(0, cut)}_rels/${path.slice(cut)}.rels`;
}

function findTarget(pack: Package, from: string, target: string): string {
  const folder = /^[\\/]/.test(target) ? '' : from.slice(0, from.lastIndexOf('/') + 1);
  const path = normalizePath(folder + target);
  return pack.find(path) ?? path;
}
