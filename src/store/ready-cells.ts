import { freeBytes } from '../common/files.ts';
import { type OutcomeHead, timeIn } from './entries.ts';
import { hasKeys, keyOf, type StoreTables } from './tables.ts';

/**
 * The cells of answers as an output has them, in bytes, so that a run need not read an answer again
 * to write the row that it was in last night. They are made from the answer beside them, and go with
 * it: whoever changes an outcome removes them in the same transaction.
 */
export interface ReadyTable {
  /**
   * The cells of a domain's answer, if they were made for a layout, and it is the latest outcome.
   * Good until the next read of the store.
   */
  readonly find: (domain: string, layout: number) => ReadyAnswer | undefined;
  /**
   * Keeps cells, unless the outcome is another one by now, or the disk is nearly full.
   *
   * @throws BrandfillError `UNUSABLE_STORE`
   */
  keep(made: readonly MadeCells[]): Promise<void>;
}

/** An answer that was found, with its cells. */
export interface ReadyAnswer extends OutcomeHead {
  readonly status: 'found';
  /** Bytes that hold the cells, from `start` to `end`. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** What whoever made them noted: 32 bits. */
  readonly note: number;
}

/** The cells that were made of an answer. */
export interface MadeCells extends Pick<OutcomeHead, 'fetchedAtMs' | 'shapeId'> {
  readonly domain: string;
  /** A number of 48 bits that stands for the columns and how they are written. */
  readonly layout: number;
  readonly note: number;
  readonly cells: string;
}

/**
 * | bytes | content |
 * |---|---|
 * | 6 | layout |
 * | 6 | shape of the answer |
 * | 8 | fetched at, milliseconds since 1970, as a double |
 * | 4 | note |
 * | … | cells |
 */
const HEAD_BYTES = 24;
const AT = { layout: 0, shape: 6, fetchedAt: 12, note: 20 } as const;
/** Outcomes need the room more. */
const LEAST_FREE_BYTES = 1024 ** 3;

export interface ReadyTableOptions {
  readonly tables: Pick<StoreTables, 'root' | 'answers' | 'failures' | 'ready'>;
  readonly folder: string;
  readonly endpointId: string;
  /** Makes a change under the store's lock, and turns its errors into messages for users. */
  readonly write: (commit: () => Promise<unknown>) => Promise<unknown>;
}

export function createReadyTable(options: ReadyTableOptions): ReadyTable {
  const { folder, endpointId, write } = options;
  const { root, answers, failures, ready } = options.tables;
  let isEmpty = !hasKeys(ready, endpointId);

  function isLatest(key: string, fetchedAtMs: number): boolean {
    return timeIn(answers, key) === fetchedAtMs && (timeIn(failures, key) ?? 0) <= fetchedAtMs;
  }

  return {
    find: (domain, layout) =>
      isEmpty ? undefined : read(ready.getBinaryFast(keyOf(endpointId, domain)), layout),
    keep: async (made) => {
      if (freeBytes(folder) < LEAST_FREE_BYTES) return;
      const encoded = made.map((one) => ({
        key: keyOf(endpointId, one.domain),
        value: encode(one),
        fetchedAtMs: one.fetchedAtMs,
      }));
      await write(() =>
        root.transaction(() => {
          for (const { key, value, fetchedAtMs } of encoded) {
            if (isLatest(key, fetchedAtMs)) ready.putSync(key, value);
          }
        }),
      );
      isEmpty = false;
    },
  };
}

/** For a store that keeps nothing. */
export const NOTHING_READY: ReadyTable = { find: () => undefined, keep: async () => {} };

function encode({ layout, shapeId, fetchedAtMs, note, cells }: MadeCells): Buffer {
  const value = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(cells));
  value.writeUIntLE(layout, AT.layout, 6);
  value.writeUIntLE(shapeId, AT.shape, 6);
  value.writeDoubleLE(fetchedAtMs, AT.fetchedAt);
  value.writeUInt32LE(note, AT.note);
  value.write(cells, HEAD_BYTES);
  return value;
}

function read(value: Buffer | undefined, layout: number): ReadyAnswer | undefined {
  if (!value || value.length < HEAD_BYTES || value.readUIntLE(AT.layout, 6) !== layout) {
    return undefined;
  }
  return {
    status: 'found',
    shapeId: value.readUIntLE(AT.shape, 6),
    fetchedAtMs: value.readDoubleLE(AT.fetchedAt),
    note: value.readUInt32LE(AT.note),
    bytes: value,
    start: HEAD_BYTES,
    end: value.length,
  };
}
