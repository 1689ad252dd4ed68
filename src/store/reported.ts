import type { Database } from 'lmdb';
import type { StoreTables } from './tables.ts';

/** What was last reported of the rows of one output, for a comparison with what is reported now. */
export interface ReportedRows {
  /** What was last reported under a key; undefined when nothing was. */
  find(key: string): Uint8Array | undefined;
  /** All keys under which something was reported. */
  keys(): Iterable<string>;
  /** Notes what is reported now. It counts once `commit` has resolved. */
  put(key: string, value: Uint8Array): void;
  /** Notes that a key is reported no more. It counts likewise. */
  remove(key: string): void;
  /**
   * Makes all of it count, in one transaction. Call it when the output is in its place.
   *
   * @throws BrandfillError `UNUSABLE_STORE`
   */
  commit(): Promise<void>;
}

/** What is noted goes to the disk in commits of so many, so that memory stays bounded. */
const BATCH = 5_000;
const REMOVED = Buffer.alloc(0);

/**
 * @param id the output, from night to night
 */
export function openReportedRows(
  { root, reported, write }: Pick<StoreTables, 'root' | 'reported' | 'write'>,
  id: string,
): ReportedRows {
  const at = (key: string): string => `${id}=${key}`;
  const noted = (key: string): string => `${id}+${key}`;
  let batch: (readonly [string, Uint8Array])[] = [];
  // What a killed run has noted counts for nothing.
  let writing: Promise<unknown> = write(() => forget(reported, [...keysFrom(reported, `${id}+`)]));
  writing.catch(() => {}); // told by `commit`

  function note(key: string, value: Uint8Array): void {
    batch.push([noted(key), value]);
    if (batch.length >= BATCH) writeBatch();
  }

  function writeBatch(): void {
    const notes = batch;
    batch = [];
    writing = writing.then(() =>
      write(() => Promise.all(notes.map(([key, value]) => reported.put(key, Buffer.from(value))))),
    );
    writing.catch(() => {}); // told by `commit`
  }

  return {
    find: (key) => reported.get(at(key)),
    keys: function* () {
      for (const key of keysFrom(reported, `${id}=`)) yield key.slice(id.length + 1);
    },
    put: note,
    remove: (key) => note(key, REMOVED),
    commit: async () => {
      writeBatch();
      await writing;
      await write(async () =>
        root.transactionSync(() => {
          for (const key of Array.from(keysFrom(reported, `${id}+`))) {
            const value = reported.get(key);
            const place = at(key.slice(id.length + 1));
            if (value && value.length > 0) reported.putSync(place, value);
            else reported.removeSync(place);
            reported.removeSync(key);
          }
        }),
      );
    },
  };
}

function keysFrom(table: Database<Buffer, string>, start: string): Iterable<string> {
  return table.getKeys({ start, end: `${start}\uffff` });
}

async function forget(table: Database<Buffer, string>, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => table.remove(key)));
}
