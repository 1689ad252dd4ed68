import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

// LMDB maps its file into memory and trusts it: a page number that leads out of the file, or an
// offset out of its page, ends the process by a signal. So a file that may have been changed by
// something else than LMDB is walked through before it is opened: all pages that are in use are
// there, each once, and each part of a page is within it. What the entries hold is checked when they
// are read, each by its checksum.
//
// Format 2 of LMDB as the lmdb package has it, little-endian. A page begins with 24 bytes: number (8), transaction (8), padding
// (2), flags (2), then the bytes of the offsets (2) and where nodes begin (2), or how many pages an
// overflow has (4). A node has size or page number (4), flags or the top of that number (2), size of
// its key (2), key, data. Data on overflow pages is number (8), transaction (8), pages (8).

const HEAD_BYTES = 24;
const NODE_BYTES = 8;
const MAGIC = 0xbeefc0de;
const FORMAT = 2;
/** Of the first page, which says the size of pages. */
const AT = {
  flags: 18,
  lower: 20,
  upper: 22,
  magic: 24,
  format: 28,
  pageSize: 48,
  freeTree: 48,
  mainTree: 96,
  lastPage: 144,
  transaction: 152,
  boot: 160,
} as const;
const META_BYTES = 168;
const PAGE = { branch: 1, leaf: 2, meta: 8 } as const;
/** Flags of nodes: data on overflow pages, a tree of its own. */
const NODE = { big: 1, tree: 2 } as const;
const TREE = { bytes: 48, flags: 4, root: 40 } as const;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const DEEPEST = 32;

/**
 * Why LMDB must not open a database; undefined when it may.
 *
 * @param isThorough whether all of it is walked through, which takes a second for a gigabyte. Else
 *   only its size is compared with what it says
 */
export function findDamage(path: string, isThorough: boolean): string | undefined {
  const file = openSync(path, 'r');
  try {
    return findDamageIn(file, isThorough);
  } catch (error) {
    if (error instanceof Damage) return error.message;
    throw error;
  } finally {
    closeSync(file);
  }
}

class Damage extends Error {}

const CUT = 'is cut off';

function findDamageIn(file: number, isThorough: boolean): string | undefined {
  const sizeBytes = fstatSync(file).size;
  if (sizeBytes === 0) return undefined; // it was not written to yet
  const first = readMeta(file, 0);
  const pageBytes = first.readUInt32LE(AT.pageSize);
  if (pageBytes < 256 || pageBytes > 65_536 || sizeBytes < 2 * pageBytes) throw new Damage(CUT);
  // What was last flushed is in the middle of the first page, without a head of its own.
  const flushed = process.platform === 'win32' ? first : readState(file, pageBytes / 2);
  const meta = pickMeta(pickMeta(first, flushed), readMeta(file, pageBytes));
  const pages = Number(meta.readBigUInt64LE(AT.lastPage)) + 1;
  // A sound file lacks pages at its end that were given back before they were written: few.
  const there = Math.floor(sizeBytes / pageBytes);
  if (!isThorough && there >= pages) return undefined;
  if (pages > 2 * there + 1_024) throw new Damage(CUT);
  const walk = createWalk({ file, pageBytes, pages, there });
  walk(meta.subarray(AT.mainTree, AT.mainTree + TREE.bytes), 'main');
  walk(meta.subarray(AT.freeTree, AT.freeTree + TREE.bytes), 'free');
  return undefined;
}

function readState(file: number, at: number): Buffer {
  const state = Buffer.alloc(META_BYTES);
  readSync(file, state, 0, META_BYTES, at);
  return state;
}

function readMeta(file: number, at: number): Buffer {
  const meta = readState(file, at);
  if (meta.readUInt32LE(AT.magic) !== MAGIC || meta.readUInt32LE(AT.format) !== FORMAT)
    throw new Damage('is damaged or was not written by Brandfill');
  return meta;
}

/** Of a transaction that was committed before it was flushed to the disk. */
const UNFLUSHED = 0x1000;

/**
 * Which of two states LMDB goes on from: the newer one, or the older one where the machine has
 * stopped since and the newer one may not have reached the disk.
 */
function pickMeta(one: Buffer, other: Buffer): Buffer {
  const [at, otherAt] = [one, other].map((meta) => meta.readBigUInt64LE(AT.transaction));
  if (at === undefined || otherAt === undefined || otherAt === 0n) return one;
  const [newer, older] = at >= otherAt ? [one, other] : [other, one];
  const isFlushed = (newer.readUInt16LE(AT.freeTree + TREE.flags) & UNFLUSHED) === 0;
  return isFlushed || isOfThisBoot(newer) ? newer : older;
}

function isOfThisBoot(meta: Buffer): boolean {
  if (process.platform !== 'linux') return true;
  const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
  return meta.readBigInt64LE(AT.boot) === BigInt(`0x${id.split('-')[0]}`);
}

interface DatabaseFile {
  readonly file: number;
  readonly pageBytes: number;
  /** Pages that it says it has, and those that are there. */
  readonly pages: number;
  readonly there: number;
}

type TreeKind = 'main' | 'table' | 'free';

/** Walks through trees of one file, which have no page in common. */
function createWalk({
  file,
  pageBytes,
  pages,
  there,
}: DatabaseFile): (tree: Buffer, kind: TreeKind) => void {
  const isUsed = new Uint8Array(pages);

  function use(page: number, count: number, most = there): void {
    if (page < 2 || count < 1 || !(page + count <= pages)) throw new Damage('is damaged');
    if (page + count > most) throw new Damage(CUT);
    for (let at = page; at < page + count; at += 1) {
      if (isUsed[at] === 1) throw new Damage('is damaged');
      isUsed[at] = 1;
    }
  }

  function walkTree(tree: Buffer, kind: TreeKind): void {
    if ((tree.readUInt16LE(TREE.flags) & ~KNOWN_FLAGS) !== 0 && kind === 'table')
      throw new Damage('is damaged');
    const root = tree.readBigUInt64LE(TREE.root);
    if (root !== NO_PAGE) walkPage(Number(root), kind, 1);
  }

  function walkPage(number: number, kind: TreeKind, depth: number): void {
    use(number, 1);
    const page = Buffer.allocUnsafe(pageBytes);
    readSync(file, page, 0, pageBytes, number * pageBytes);
    const flags = page.readUInt16LE(AT.flags);
    const isBranch = flags === PAGE.branch;
    const lower = page.readUInt16LE(AT.lower);
    const upper = page.readUInt16LE(AT.upper);
    const room = pageBytes - HEAD_BYTES;
    const nodes = lower >> 1;
    const isSound =
      Number(page.readBigUInt64LE(0)) === number &&
      (isBranch || flags === PAGE.leaf) &&
      lower <= upper &&
      upper <= room &&
      lower % 2 === 0 &&
      nodes >= (isBranch ? 2 : 1) &&
      depth < DEEPEST;
    if (!isSound) throw new Damage('is damaged');
    let last: Buffer | undefined;
    for (let at = 0; at < nodes; at += 1) {
      const start = page.readUInt16LE(HEAD_BYTES + 2 * at);
      if (start < upper || start + NODE_BYTES > room) throw new Damage('is damaged');
      const node = page.subarray(HEAD_BYTES + start);
      walkNode(node, { kind, isBranch, depth });
      // What is out of order is not found, or hides others. The first key of a branch says nothing.
      const key = node.subarray(NODE_BYTES, NODE_BYTES + node.readUInt16LE(6));
      if (kind !== 'free' && last && last.compare(key) >= 0) throw new Damage('is damaged');
      if (!isBranch || at > 0) last = key;
    }
  }

  function walkNode(
    node: Buffer,
    { kind, isBranch, depth }: { kind: TreeKind; isBranch: boolean; depth: number },
  ): void {
    const low = node.readUInt32LE(0);
    const flags = node.readUInt16LE(4);
    const data = NODE_BYTES + node.readUInt16LE(6);
    if (data > node.length) throw new Damage('is damaged');
    if (isBranch) return walkPage(low + flags * 2 ** 32, kind, depth + 1);
    const isBig = flags === NODE.big;
    const isTree = flags === NODE.tree && kind === 'main';
    const end = data + (isBig ? 24 : low);
    if ((flags !== 0 && !isBig && !isTree) || end > node.length) throw new Damage('is damaged');
    if (isTree) {
      if (low !== TREE.bytes) throw new Damage('is damaged');
      walkTree(node.subarray(data, end), 'table');
    }
    if (!isBig) return checkFree(node.subarray(data, end), kind);
    const first = Number(node.readBigUInt64LE(data));
    const count = Number(node.readBigUInt64LE(data + 16));
    use(first, count);
    if (HEAD_BYTES + low > count * pageBytes) throw new Damage('is damaged');
    if (kind !== 'free') return;
    const list = Buffer.allocUnsafe(low);
    readSync(file, list, 0, low, first * pageBytes + HEAD_BYTES);
    checkFree(list, kind);
  }

  /**
   * Pages that are free: how many entries there are, and these. One below zero says how many pages
   * follow on the page in the next one; zeros are room for more.
   */
  function checkFree(list: Buffer, kind: TreeKind): void {
    if (kind !== 'free') return;
    const count = list.length < 8 ? -1 : Number(list.readBigUInt64LE(0));
    if (count < 0 || 8 * (count + 1) > list.length) throw new Damage('is damaged');
    let run = 1;
    for (let at = 1; at <= count; at += 1) {
      const entry = Number(list.readBigInt64LE(8 * at));
      if (entry > 0) use(entry, run, pages);
      run = entry < 0 ? -entry : 1;
    }
  }

  return walkTree;
}

/** Of a table whose keys are in reverse or integers. Keys with several values are not ours. */
const KNOWN_FLAGS = 0x0a;
