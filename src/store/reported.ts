import type { StoreDatabase } from './database.ts';
import type { Change } from './engine.ts';

/** What was last reported of the rows of one output, for a comparison with what is reported now. */
export type ReportedRows = ReturnType<typeof openReportedRows>;

/** What is noted goes to the disk in commits of so many, so that memory stays bounded. */
const BATCH = 5_000;
/**
 * Stands before what is noted of a key, which may be nothing; a key that is to be removed has none.
 */
const NOTED = Buffer.of(1);

/**
 * @param id the output, from night to night
 */
export function openReportedRows(database: StoreDatabase, id: string) {
  const { reported: table, commit } = database;
  const at = (key: string): string => `${id}=${key}`;
  const noted = (key: string): string => `${id}+${key}`;
  let batch: Change[] = [];
  // What a killed run has noted counts for nothing.
  let writing = removeFrom(database, `${id}+`);
  writing.catch(() => {}); // told by `commit`

  function note(key: string, value: Buffer): void {
    batch.push({ table, key: noted(key), value });
    if (batch.length >= BATCH) writeBatch();
  }

  function writeBatch(): void {
    const notes = batch;
    batch = [];
    writing = writing.then(() => commit(notes));
    writing.catch(() => {}); // told by `commit`
  }

  return {
    /** What was last reported under a key; undefined when nothing was. */
    find: (key: string): Uint8Array | undefined => table.get(at(key)),
    /** All keys under which something was reported. */
    keys: function* (): Iterable<string> {
      for (const key of keysFrom(database, `${id}=`)) yield key.slice(id.length + 1);
    },
    /** Notes what is reported now. It counts once `commit` has resolved. */
    put: (key: string, value: Uint8Array): void => note(key, Buffer.concat([NOTED, value])),
    /** Notes that a key is reported no more. It counts likewise. */
    remove: (key: string): void => note(key, Buffer.alloc(0)),
    /**
     * Makes all of it count, in one transaction. Call it when the output is in its place.
     *
     * @throws BrandfillError `UNUSABLE_STORE`
     */
    commit: async (): Promise<void> => {
      writeBatch();
      await writing;
      const reporting = function* (): Generator<Change> {
        for (const key of Array.from(keysFrom(database, `${id}+`))) {
          const note = table.get(key);
          const value = note?.length ? note.subarray(1, note.length) : undefined;
          yield { table, key: at(key.slice(id.length + 1)), value };
          yield { table, key };
        }
        yield { table: database.meta, key: timeKey(id), value: Date.now() };
      };
      await commit(reporting());
    },
  };
}

const timeKey = (id: string): string => `reported:${id}`;

/**
 * Forgets what was reported of outputs that were not written for so long, or in the future by as
 * much.
 *
 * @returns how many outputs
 */
export async function forgetReported(
  database: StoreDatabase,
  olderThanMs: number,
): Promise<number> {
  const { reported, meta, commit } = database;
  let forgotten = 0;
  for (let start = ''; ; ) {
    const [key] = reported.getKeys({ start, limit: 1 });
    if (key === undefined) return forgotten;
    const id = key.split(/[=+]/, 1)[0] ?? key;
    start = `${id}\uffff`;
    // A run that was killed before its first report has left no time.
    const ageMs = Math.abs(Date.now() - Number(meta.get(timeKey(id)) ?? 0));
    if (ageMs <= olderThanMs) continue;
    forgotten += 1;
    await removeFrom(database, id);
    await commit([{ table: meta, key: timeKey(id) }]);
  }
}

function keysFrom({ reported }: StoreDatabase, start: string): Iterable<string> {
  return reported.getKeys({ start, end: `${start}\uffff` });
}

async function removeFrom(database: StoreDatabase, start: string): Promise<void> {
  const keys = Array.from(keysFrom(database, start));
  if (keys.length > 0)
    await database.commit(keys.map((key) => ({ table: database.reported, key })));
}
