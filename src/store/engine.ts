import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Database, RootDatabase } from 'lmdb';
import { type BrandfillError } from '../common/errors.ts';
import { PRIVATE } from '../common/files.ts';
import { awaitBeforeEnd } from '../common/lifetime.ts';
import { ELSEWHERE, orDamage, refusal, writeError } from './failures.ts';

// LMDB, and how the tables of a store lie in it. No other file knows it.

/**
 * The version of the layout. New tables need no new version: older Brandfills ignore them. Version
 * 1, of 0.1.0, is read too and becomes this one.
 */
export const STORE_VERSION = 2;

/** A table as it is read. It is changed by changes that are committed. */
export interface Table<V> {
  get(key: string): V | undefined;
  /** The bytes until the next read of any table: see `decodeOutcome`. */
  getBinaryFast(key: string): Buffer | undefined;
  getKeys(range?: KeyRange): Iterable<string>;
  getRange(range?: KeyRange): Iterable<{ readonly key: string; readonly value: V }>;
  doesExist(key: string): boolean;
}

/** Keys in their order, from `start` to before `end`. @default all */
interface KeyRange {
  readonly start?: string;
  readonly end?: string;
  readonly limit?: number;
}

/** A change of a table. */
export interface Change {
  readonly table: Table<Buffer> | Table<unknown>;
  readonly key: string;
  /** What the key has from then on. @default nothing */
  readonly value?: unknown;
}

/** The tables of a store, and how to change them. */
export type Engine = Awaited<ReturnType<typeof openEngine>>;

interface EngineOptions {
  /** The folder as the person named it. */
  readonly folder: string;
  /**
   * Whether to write twice first: the second commit is the first one that reads which pages are
   * free.
   */
  readonly isTried: boolean;
  /** Called at the first write that fails. */
  readonly onFailed: () => void;
}

/**
 * @throws BrandfillError when the database was not written by this version of Brandfill, or is
 *   damaged
 */
export async function openEngine(home: string, { folder, isTried, onFailed }: EngineOptions) {
  // An option that its types leave out.
  const mode = { permissionsMode: PRIVATE.mode };
  // A native module, which no help waits for. As CommonJS it is one file instead of a dozen.
  const { open } = createRequire(import.meta.url)('lmdb') as typeof import('lmdb');
  const root = open({ path: home, noSubdir: false, maxDbs: 16, ...mode });
  catchUnseen(root);
  try {
    // All tables of a new store are created in one transaction, because each one costs an fsync.
    const tables = root.transactionSync(() => openTables(root, folder));
    if (isTried)
      for (const nth of [1, 2])
        root.transactionSync(() => stored(tables.meta).putSync('checked', nth));
    return { ...tables, ...createWrites(home, root, { folder, onFailed }) };
  } catch (error) {
    await root.close();
    throw orDamage(folder, error);
  }
}

function openTables(root: RootDatabase, folder: string) {
  // A store of ours has had its version since its tables were created.
  const isNew = [...root.getKeys()].every((name) => name === 'meta');
  root.resetReadTxn();
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const version = meta.get('version');
  if ((version === undefined && isNew) || version === 1) meta.putSync('version', STORE_VERSION);
  else if (version === undefined)
    throw refusal(folder, 'its file data.mdb was written by something else than Brandfill');
  else if (version !== STORE_VERSION)
    throw refusal(
      folder,
      `it is of version ${JSON.stringify(version)}, this Brandfill reads version ${STORE_VERSION}`,
      `use the Brandfill that wrote it (its brandfill store export can be imported here), or ${ELSEWHERE}`,
    );
  const known = meta.get('id');
  const id = typeof known === 'string' ? known : randomUUID();
  if (id !== known) meta.putSync('id', id);
  const tableOf = <V>(name: string, encoding: 'binary' | 'json'): Table<V> =>
    withTexts(root.openDB<V, string>(name, { encoding }));
  return {
    /** A unique id of this store, which it keeps when its folder is moved. */
    id,
    /**
     * `found`, `not_found` and `rejected`. Keys of outcomes and logos are made by {@link keyOf}.
     */
    answers: tableOf<Buffer>('answers', 'binary'),
    /** `failed` and `pending`, beside the answer that a domain may have. */
    failures: tableOf<Buffer>('failures', 'binary'),
    /** What was last reported of rows: see `reported.ts`. */
    reported: tableOf<Buffer>('reported', 'binary'),
    /** Notes: on logos, on calls that were taken from a budget, and on the store itself. */
    logos: tableOf<unknown>('logos', 'json'),
    calls: tableOf<unknown>('calls', 'json'),
    meta: meta as Table<unknown>,
  };
}

/** Leaves out keys that are no texts: damage makes them, and they count as not there. */
function withTexts<V>(table: Database<V, string>): Database<V, string> {
  const all = table.getRange.bind(table);
  // `getKeys` of lmdb is this with keys alone.
  table.getRange = (range) =>
    all(range).filter((one: unknown) => {
      const { key } = Object(one) as { readonly key?: unknown };
      return typeof one === 'string' || typeof key === 'string';
    });
  return table;
}

function createWrites(
  home: string,
  root: RootDatabase,
  { folder, onFailed }: Pick<EngineOptions, 'folder' | 'onFailed'>,
) {
  let failure: BrandfillError | undefined;
  let isEnding = false;
  // The threads of LMDB write what was committed, and would not survive the end of the process.
  const endsByItself = awaitBeforeEnd(async () => {
    isEnding = true;
    await root.committed;
    await root.flushed;
  });
  /** Those who wait for a write, or for its failure. */
  const waiting = new Set<(failure: BrandfillError) => void>();
  const failed = new Promise<BrandfillError>((resolve) => void waiting.add(resolve));

  function fail(cause: unknown): BrandfillError {
    if (failure) return failure;
    failure = writeError(folder, cause, existsSync(home));
    onFailed();
    for (const end of waiting) end(failure);
    return failure;
  }

  /**
   * Does work that changes the store. After the first that fails, LMDB would never end those behind
   * it: they fail with it, and so do all later ones.
   *
   * @throws BrandfillError `UNUSABLE_STORE`
   */
  function write<T>(work: () => Promise<T>): Promise<T> {
    if (failure) return Promise.reject(failure);
    return new Promise<T>((resolve, reject) => {
      waiting.add(reject);
      work()
        .then(resolve, async (error: unknown) => reject(fail(await causeOf(error))))
        .finally(() => waiting.delete(reject));
    });
  }

  return {
    /**
     * Commits changes in one transaction. It takes them one by one, so they may depend on what is
     * there and on those before them. Returns what a generator of them returns.
     */
    commit: async <T>(changes: Iterable<Change, T>): Promise<T> => {
      const apply = ({ table, key, value }: Change): unknown =>
        value === undefined ? stored(table).removeSync(key) : stored(table).putSync(key, value);
      if (isEnding) return await new Promise(() => {}); // nobody waits for it any more
      return await write(() =>
        root.transaction(() => {
          const left = changes[Symbol.iterator]();
          let next = left.next();
          for (; !next.done; next = left.next()) apply(next.value);
          return next.value;
        }),
      );
    },
    /** Resolves with the error of the first write that fails. */
    failed,
    /** Waits until all that was committed is on the disk. */
    flush: async (): Promise<void> => {
      await write(async () => {
        if (!existsSync(home)) throw new Error('the folder was removed');
        await root.committed;
        await root.flushed;
      });
    },
    /** Waits until all that was written can be read. */
    settle: async (): Promise<void> => void (await write(() => root.committed)),
    /** Not after a failure: LMDB would wait without end. */
    close: async (): Promise<void> => {
      endsByItself();
      await write(() => root.close());
    },
  };
}

/** The table of LMDB behind a port. */
const stored = (table: Change['table']) => table as Database<unknown, string>;

/**
 * Handles promises of its own that lmdb rejects when a commit fails. Unhandled, they would end the
 * process. The writer of a failed write learns of it from the promise of that write.
 */
function catchUnseen(root: RootDatabase): void {
  // The promise of the commit is created right after this event.
  root.on('beforecommit', () => {
    queueMicrotask(() => void root.committed.then(undefined, causeOf));
  });
}

/** Lmdb's error of a failed commit has the reason in another promise. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (reason) {
    return reason;
  }
}
