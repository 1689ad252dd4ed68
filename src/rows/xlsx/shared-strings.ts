import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { openSpool, type SpoolOptions, writeAll } from '../spool.ts';
import { endOfText, isAt, isSpace, isText, textBetween, UNKNOWN } from './row-scanner.ts';
import { type ScanEnd, type ScannedPart, scanXml, unescapeCellText, utf8Of } from './xml.ts';

/** Texts that cells refer to by number. */
export interface SharedStrings {
  /** Undefined when there is no text of this number. */
  find(index: number): string | undefined;
  /** How many there are. */
  readonly count: number;
  /** The first byte of one; undefined for an empty one, and for one that is not in memory. */
  firstByte(index: number): number | undefined;
  close(): Promise<void>;
}

/** Real lists stay far below this. */
const MEMORY_BYTES = 64_000_000;
const BLOCK_BYTES = 1_000_000;
/** A sheet of twenty columns has this many cells. */
const MOST_TEXTS = 20_000_000;

/** No texts at all. */
export const NO_STRINGS: SharedStrings = {
  find: () => undefined,
  count: 0,
  firstByte: () => undefined,
  close: async () => {},
};

export interface SharedStringsOptions extends SpoolOptions {
  /** The most memory that they may take; further texts are kept on the disk. @default 64 MB */
  readonly memoryBytes?: number;
}

/**
 * Reads all texts into few large blocks of bytes: a million separate texts would take several times
 * the memory.
 *
 * @param part the part of the workbook that holds them
 */
export async function readSharedStrings(
  part: AsyncIterable<Buffer>,
  { spoolFolder, signal, memoryBytes = MEMORY_BYTES }: SharedStringsOptions,
): Promise<SharedStrings> {
  const table = createTable(spoolFolder, memoryBytes);
  try {
    for await (const texts of scanXml(utf8Of(part), createTexts())) {
      signal.throwIfAborted();
      await table.append(texts);
    }
    await table.seal();
    return table;
  } catch (error) {
    await table.close();
    throw error;
  }
}

/** Finds the texts. */
function createTexts(): ScannedPart<Buffer> {
  let texts: Buffer[] = [];
  let fed = 0;
  let end = -1;
  let depth = 0;
  let place: ScannedPart<Buffer>['place'] = 'before';
  let prefix = '';
  let text = '';
  let isText = false;
  let isPhonetic = false;
  let scan = createTextScanner('');
  return {
    handlers: {
      open: (tag) => {
        depth += 1;
        if (depth === 1) {
          place = 'inside';
          ({ prefix } = tag);
          scan = createTextScanner(prefix);
        }
        if (tag.local === 'si') text = '';
        if (tag.local === 'rPh') isPhonetic = true;
        isText = tag.local === 't' && !isPhonetic;
      },
      text: (more) => {
        if (isText) text += more;
      },
      close: (local, position) => {
        depth -= 1;
        if (local === 't') isText = false;
        if (local === 'rPh') isPhonetic = false;
        if (depth === 0) place = 'behind';
        if (local !== 'si' || depth !== 1) return;
        texts.push(Buffer.from(unescapeCellText(text)));
        end = position;
      },
    },
    feed: (more) => {
      fed += more.length;
    },
    get place() {
      return place;
    },
    get isBehindItem() {
      return place === 'inside' && end === fed;
    },
    get closeTag() {
      return `</${prefix}si>`;
    },
    scan: (bytes, at) => scan(bytes, at, texts),
    take: () => {
      const taken = texts;
      texts = [];
      return taken;
    },
  };
}

/** `_`, `&` and carriage return: with one of these, a text is not what is there. */
const ESCAPES = [0x5f, 0x26, 0x0d];

/** A longer item is left to the XML reader, which refuses it if it is too long. */
const MOST_OF_ITEM = 4_000_000;

/** Makes a scanner of the texts that have one format, as nearly all have. */
function createTextScanner(
  prefix: string,
): (bytes: Buffer, from: number, texts: Buffer[]) => ScanEnd {
  const OPEN = ['', ' xml:space="preserve"'].map((attribute) =>
    Buffer.from(`<${prefix}si><${prefix}t${attribute}>`),
  );
  const CLOSE = Buffer.from(`</${prefix}t></${prefix}si>`);
  const itemEnd = `</${prefix}si>`;
  return (bytes, from, texts) => {
    for (let at = from; ; ) {
      while (isSpace(bytes[at])) at += 1;
      const open = OPEN.find((tag) => isAt(bytes, at, tag));
      const start = at + (open?.length ?? 0);
      const end = open ? endOfText(bytes, start) : UNKNOWN;
      if (end === UNKNOWN || !isAt(bytes, end, CLOSE) || !isText(bytes.subarray(start, end))) {
        const isThere = bytes.length - at > MOST_OF_ITEM || bytes.includes(itemEnd, at);
        return { at, isIncomplete: !isThere };
      }
      const text = bytes.subarray(start, end);
      const isPlain = !ESCAPES.some((byte) => text.includes(byte));
      texts.push(isPlain ? text : Buffer.from(unescapeCellText(textBetween(bytes, start, end))));
      at = end + CLOSE.length;
    }
  };
}

interface Table extends SharedStrings {
  append(texts: readonly Buffer[]): Promise<void>;
  /** Ends the writing; from now on texts can be looked up. */
  seal(): Promise<void>;
}

function createTable(spoolFolder: string, mostBytes: number): Table {
  /** The end of each text; it begins where the one before ends. A package has less than 4 GiB. */
  let ends = new Uint32Array(1_024);
  let count = 0;
  let endBytes = 0;
  /** All have the same size except the last, so that a position gives its block. */
  const blocks: Buffer[] = [];
  let memoryBytes = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let spool: FileHandle | undefined;

  function keep(block: Buffer): void {
    blocks.push(block);
    memoryBytes += block.length;
  }

  async function flush(): Promise<void> {
    let rest: Buffer = Buffer.concat(pending);
    if (memoryBytes < mostBytes) {
      while (rest.length >= BLOCK_BYTES) {
        keep(Buffer.from(rest.subarray(0, BLOCK_BYTES)));
        rest = rest.subarray(BLOCK_BYTES);
      }
    } else {
      spool ??= await openSpool(spoolFolder);
      await writeAll(spool, rest, spoolFolder);
      rest = Buffer.alloc(0);
    }
    pending = [rest];
    pendingBytes = rest.length;
  }

  function addEnd(): void {
    if (count === MOST_TEXTS) throw new Error(`it has more than ${MOST_TEXTS} different texts`);
    if (count === ends.length) {
      const larger = new Uint32Array(count * 2);
      larger.set(ends);
      ends = larger;
    }
    ends[count] = endBytes;
    count += 1;
  }

  function textAt(start: number, end: number): string {
    const from = start % BLOCK_BYTES;
    const block = blocks[Math.floor(start / BLOCK_BYTES)];
    if (block && from + end - start <= block.length) {
      return block.toString('utf8', from, from + end - start);
    }
    return gather(start, end).toString('utf8');
  }

  /** Reads a text that spans several blocks, or is on the disk. */
  function gather(start: number, end: number): Buffer {
    const bytes = Buffer.alloc(end - start);
    for (let at = start; at < end; ) {
      const from = at % BLOCK_BYTES;
      const got =
        at < memoryBytes
          ? (blocks[Math.floor(at / BLOCK_BYTES)]?.copy(bytes, at - start, from, from + end - at) ??
            0)
          : spool
            ? readSync(spool.fd, bytes, at - start, end - at, at - memoryBytes)
            : 0;
      if (got === 0) break;
      at += got;
    }
    return bytes;
  }

  return {
    append: async (texts) => {
      for (const bytes of texts) {
        pending.push(bytes);
        pendingBytes += bytes.length;
        endBytes += bytes.length;
        addEnd();
      }
      if (pendingBytes >= BLOCK_BYTES) await flush();
    },
    seal: async () => {
      if (spool) await flush();
      else keep(Buffer.concat(pending));
      pending = [];
    },
    find: (index) => {
      const end = index >= 0 && index < count ? ends[index] : undefined;
      if (end === undefined) return undefined;
      return textAt(index === 0 ? 0 : (ends[index - 1] ?? 0), end);
    },
    get count() {
      return count;
    },
    firstByte: (index) => {
      const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
      if (start === ends[index]) return undefined;
      return blocks[Math.floor(start / BLOCK_BYTES)]?.[start % BLOCK_BYTES];
    },
    close: async () => {
      await spool?.close();
      spool = undefined;
    },
  };
}
