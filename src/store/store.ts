import { join } from 'node:path';
import type { Database } from 'lmdb';
import { isAnswer, type Outcome } from '../brand/outcome.ts';
import type { Shape } from '../brand/shape.ts';
import { BrandfillError } from '../common/errors.ts';
import { blockSizeOf, type CallLedger, type CallsPer, windowAt } from '../guard/budget.ts';
import { type Claims, type ClaimsOptions, createClaims, NO_CLAIMS } from './claims/claims.ts';
import { decodeHead, decodeOutcome, encodeOutcome, type OutcomeHead, timeIn } from './entries.ts';
import {
  createLeftOvers,
  createLogoNotes,
  type LeftOvers,
  type LogoNotes,
  NO_LEFT_OVERS,
  NO_LOGO_NOTES,
} from './notes.ts';
import { createReadyTable, NOTHING_READY, type ReadyTable } from './ready-cells.ts';
import { removeUnusedShapes } from './removal.ts';
import { findSavedColumns, type SavedColumn, saveColumns } from './saved-columns.ts';
import { hasKeys, keyOf, noteApiName, openTables, type StoreTables } from './tables.ts';
import { createCommitBatches, isLmdbError, readError } from './writes.ts';

/**
 * Outcomes by domain, for one endpoint. Writes are committed in batches; several processes may use
 * the same folder at the same time.
 *
 * Lookups that failed or are pending are stored apart from the answers. They say why a row has no
 * answer, and never replace an answer that was paid for.
 */
export interface OutcomeStore {
  /** A unique id of this store. */
  readonly id: string;
  /** Whether the endpoint has ever answered about a domain. */
  hasAnswers(): boolean;
  /** The head of the latest outcome: the answer, or the failure if that is newer. */
  findHead(domain: string): OutcomeHead | undefined;
  /** The latest outcome: the answer, or the failure if that is newer. */
  find(domain: string): Outcome | undefined;
  /** The head of the answer, even when a failure is newer. */
  findAnswerHead(domain: string): OutcomeHead | undefined;
  /** The answer, even when a failure is newer. */
  findAnswer(domain: string): Outcome | undefined;
  /**
   * Stores an outcome. Storing it twice changes nothing. One that cannot be stored is still found
   * here, until the store is closed.
   *
   * @param shape the columns of its answer; undefined when it has too many
   * @returns when it is committed, so that it survives if the process is killed
   * @throws BrandfillError `UNUSABLE_STORE` when it cannot be stored
   */
  put(outcome: Outcome, shape: Shape | undefined): Promise<void>;
  /** Cells of answers as an output has them. */
  readonly ready: ReadyTable;
  /** Resolves with the error of the first write that fails. No write succeeds after it. */
  readonly failed: Promise<BrandfillError>;
  /**
   * The columns of an answer, by the number in its head. Undefined when they are unknown, because
   * there are too many.
   */
  findShape(id: number): Shape | undefined;
  /** The pace that was saved under an id; undefined when there is none, or it is malformed. */
  findPace(id: string): SavedPace | undefined;
  /** Saves a pace in place of an earlier one, from whichever run. */
  savePace(id: string, pace: SavedPace): Promise<void>;
  /** The columns of the last output that was saved under an id; undefined when there is none. */
  findColumns(id: string): readonly SavedColumn[] | undefined;
  /** Saves the columns of an output under each of its ids. */
  saveColumns(ids: readonly string[], columns: readonly SavedColumn[]): Promise<void>;
  /** Domains that earlier runs did not get to. */
  readonly leftOvers: LeftOvers;
  /** Notes on the logos that answers point to. */
  readonly logos: LogoNotes;
  /** Counts calls of all runs on this store with one credential, which the id stands for. */
  openCallLedger(id: string, limit: CallsPer): CallLedger;
  /**
   * The domains that runs at the same endpoint have under way. `underWay` holds what this run has,
   * perhaps on a queue.
   */
  openClaims(own: Pick<ClaimsOptions, 'underWay' | 'standsStill' | 'elsewhere'>): Claims;
  /**
   * The same store by what another endpoint was asked. It is closed along with this one.
   *
   * @param apiName a name of the other API, for people who maintain the store
   */
  openOther(endpointId: string, apiName: string): Promise<OutcomeStore>;
  /** Waits until all commits are on the disk, so that they survive a power failure. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /**
   * Whether an answer that was found counts as the latest outcome even after a later failure.
   * @default false
   */
  readonly keepsFound?: boolean | undefined;
  /** A name of the API, for people who maintain the store. No credential in it. @default none */
  readonly apiName?: string | undefined;
}

/**
 * Opens the store in a folder, which is created if it does not exist.
 *
 * @param endpointId keeps the answers of different APIs apart
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version.
 */
export async function openStore(
  folder: string,
  endpointId: string,
  { keepsFound = false, apiName }: StoreOptions = {},
): Promise<OutcomeStore> {
  const tables = await openTables(folder);
  if (tables.shapes.isFull()) await removeUnusedShapes(tables);
  if (apiName !== undefined) await noteApiName(tables, endpointId, apiName);
  return viewOf(endpointId, { tables, folder, keepsFound });
}

interface ViewOptions extends Required<Pick<StoreOptions, 'keepsFound'>> {
  readonly tables: StoreTables;
  readonly folder: string;
}

function viewOf(endpointId: string, options: ViewOptions): OutcomeStore {
  const { tables, folder, keepsFound = false } = options;
  const { root, lock, meta, answers, failures, ready, leftOver, logos, shapes } = tables;
  const unsaved = createUnsaved();
  const write = <T>(commit: () => Promise<T>): Promise<T> =>
    lock.hold(commit).catch((error: unknown) => {
      unsaved.fail(error);
      throw error;
    });
  const key = (domain: string): string => keyOf(endpointId, domain);
  const batches = createCommitBatches<EncodedOutcome>(async (batch) => {
    try {
      await write(() => {
        root.resetReadTxn(); // another process may have removed a shape just now
        const used = new Map(batch.map(({ shapeId, shape }) => [shapeId, shape]));
        const kept = [...used].map(([id, shape]) => shapes.keep(id, shape));
        // Puts in one turn of the event loop share one transaction and one reply of lmdb.
        return Promise.all([...kept, ...batch.flatMap(commit)]);
      });
    } catch (error) {
      for (const each of batch) unsaved.add(each);
      throw error;
    }
  });
  const valueIn: ReadValue = (table, at) => unsaved.find(table, at) ?? table.getBinaryFast(at);
  // Most stores hold no failures. Each row is then spared half of its lookups in the tables.
  const areFailuresThere = (): boolean => hasKeys(failures, endpointId);
  let hasFailures = areFailuresThere();
  const needsFailure = (answer: OutcomeHead | Outcome | undefined): boolean =>
    hasFailures && !(keepsFound && answer?.status === 'found');

  function commit({ table, at, value, fetchedAtMs }: EncodedOutcome): readonly Promise<boolean>[] {
    const puts = [table.put(at, value), ready.remove(at)];
    if (table === failures || !hasFailures) return puts;
    // Otherwise a failure dated in the future would count as the latest outcome for ever.
    return (timeIn(failures, at) ?? 0) > fetchedAtMs ? [...puts, failures.remove(at)] : puts;
  }

  /** A read that says what is wrong with the store when LMDB fails. */
  function explained<A extends readonly unknown[], T>(read: (...of: A) => T): (...of: A) => T {
    return (...of) => {
      try {
        return read(...of);
      } catch (error) {
        throw isLmdbError(error) ? readError(folder, error) : error;
      }
    };
  }

  const readyTable = createReadyTable({ tables, folder, endpointId, write });
  const findHead = explained((domain: string) => {
    const answer = head(valueIn(answers, key(domain)));
    return needsFailure(answer) ? newer(answer, head(valueIn(failures, key(domain)))) : answer;
  });

  return {
    id: tables.id,
    hasAnswers: () => hasKeys(answers, endpointId),
    findHead,
    find: explained((domain: string) => {
      const [at, answer] = [key(domain), outcome(domain, valueIn(answers, key(domain)))];
      return needsFailure(answer) ? newer(answer, outcome(domain, valueIn(failures, at))) : answer;
    }),
    findAnswerHead: explained((domain: string) => head(valueIn(answers, key(domain)))),
    findAnswer: explained((domain: string) => outcome(domain, valueIn(answers, key(domain)))),
    put: (found, shape) => {
      hasFailures ||= !isAnswer(found.status);
      const table = isAnswer(found.status) ? answers : failures;
      const shapeId = shapes.idOf(shape);
      const value = encodeOutcome(found, shapeId);
      const { domain, fetchedAtMs } = found;
      return batches.add({ table, at: key(domain), value, fetchedAtMs, shapeId, shape });
    },
    ready: { ...readyTable, find: explained(readyTable.find) },
    failed: unsaved.failed,
    findShape: (id) => unsaved.findShape(id) ?? shapes.find(id),
    findPace: (id) => findSavedPace(meta, id),
    savePace: async (id, pace) => {
      await write(() => meta.put(paceKey(id), pace));
    },
    findColumns: (id) => findSavedColumns(meta, endpointId, id),
    saveColumns: async (ids, columns) => {
      const layout = { ids, columns, savedAtMs: Date.now() };
      await write(() => saveColumns(meta, endpointId, layout));
    },
    leftOvers: createLeftOvers({
      table: leftOver,
      endpointId,
      findHead,
      write,
    }),
    logos: createLogoNotes({ table: logos, endpointId, write }),
    openCallLedger: (id, limit) =>
      createCallLedger({
        table: tables.calls,
        id,
        limit,
        write,
        now: Date.now,
      }),
    openClaims: (own) =>
      createClaims(join(folder, 'under-way'), {
        ...own,
        endpointId,
        onOthers: () => {
          // A snapshot taken earlier does not hold what other runs have just stored.
          root.resetReadTxn();
          hasFailures ||= areFailuresThere();
        },
      }),
    openOther: async (otherId, apiName) => {
      await noteApiName(tables, otherId, apiName);
      return { ...viewOf(otherId, options), close: async () => {} };
    },
    flush: async () => {
      await batches.settle();
      await tables.flush();
    },
    close: () => tables.close(),
  };
}

/** An outcome that waits for its commit. Its answer is no longer needed in memory. */
interface EncodedOutcome {
  readonly table: Database<Buffer, string>;
  readonly at: string;
  readonly value: Buffer;
  readonly fetchedAtMs: number;
  readonly shapeId: number;
  readonly shape: Shape | undefined;
}

/** A store that is empty and keeps nothing, for reading only. */
export function createEmptyStore(): OutcomeStore {
  return {
    id: '',
    hasAnswers: () => false,
    findHead: () => undefined,
    find: () => undefined,
    findAnswerHead: () => undefined,
    findAnswer: () => undefined,
    put: async () => {},
    ready: NOTHING_READY,
    failed: new Promise(() => {}),
    findShape: () => undefined,
    findPace: () => undefined,
    savePace: async () => {},
    findColumns: () => undefined,
    saveColumns: async () => {},
    leftOvers: NO_LEFT_OVERS,
    logos: NO_LOGO_NOTES,
    openCallLedger: () => {
      throw new Error('Cannot count calls in a store that keeps nothing.');
    },
    openClaims: () => NO_CLAIMS,
    openOther: async () => createEmptyStore(),
    flush: async () => {},
    close: async () => {},
  };
}

function newer<T extends { readonly fetchedAtMs: number }>(
  answer: T | undefined,
  failure: T | undefined,
): T | undefined {
  if (!answer || !failure) return answer ?? failure;
  return failure.fetchedAtMs > answer.fetchedAtMs ? failure : answer;
}

/** Reads what is stored under a key. */
type ReadValue = (table: Database<Buffer, string>, key: string) => Buffer | undefined;

function head(value: Buffer | undefined): OutcomeHead | undefined {
  return value && decodeHead(value);
}

function outcome(domain: string, value: Buffer | undefined): Outcome | undefined {
  return value && decodeOutcome(domain, value);
}

/** Outcomes that were paid for and cannot be stored. The outputs of this run still get them. */
interface Unsaved {
  readonly failed: Promise<BrandfillError>;
  fail(error: unknown): void;
  add(outcome: EncodedOutcome): void;
  find: ReadValue;
  findShape(id: number): Shape | undefined;
}

function createUnsaved(): Unsaved {
  const values = new Map<Database<Buffer, string>, Map<string, Buffer>>();
  const shapes = new Map<number, Shape>();
  let report: (error: BrandfillError) => void;
  const failed = new Promise<BrandfillError>((resolve) => {
    report = resolve;
  });
  return {
    failed,
    fail: (error) => {
      if (error instanceof BrandfillError) report(error);
    },
    add: ({ table, at, value, shapeId, shape }) => {
      const ofTable = values.get(table) ?? new Map<string, Buffer>();
      values.set(table, ofTable.set(at, value));
      if (shape) shapes.set(shapeId, shape);
    },
    find: (table, at) => (values.size === 0 ? undefined : values.get(table)?.get(at)),
    findShape: (id) => shapes.get(id),
  };
}

/** The pace that a run knew, as a later run finds it. */
export interface SavedPace {
  /** The pacer's state as it was written. The pacer has to check it. */
  readonly state: unknown;
  /** When it was written, in milliseconds since 1970. */
  readonly savedAtMs: number;
  /** When the limit in it was last reached, in milliseconds since 1970. */
  readonly learnedAtMs: number;
}

/** The key of a pace among the store's own notes. */
function paceKey(id: string): string {
  return `pace:${id}`;
}

/** The saved pace; undefined when there is none, or it is malformed. */
function findSavedPace(meta: Database<unknown, string>, id: string): SavedPace | undefined {
  const value = read(meta, paceKey(id));
  if (typeof value !== 'object' || value === null) return undefined;
  const { state, savedAtMs, learnedAtMs } = value as Partial<SavedPace>;
  if (!Number.isFinite(savedAtMs) || !Number.isFinite(learnedAtMs)) return undefined;
  return { state, savedAtMs: Number(savedAtMs), learnedAtMs: Number(learnedAtMs) };
}

function read(meta: Database<unknown, string>, key: string): unknown {
  try {
    return meta.get(key);
  } catch {
    return undefined; // invalid JSON: a lost pace costs only a few seconds
  }
}

interface CallLedgerOptions {
  /** Calls taken, by credential and unit. */
  readonly table: Database<unknown, string>;
  /** A hash of credential and API that does not reveal the credential. */
  readonly id: string;
  readonly limit: CallsPer;
  /** Makes a change under the store's lock, and turns its errors into messages for users. */
  readonly write: <T>(commit: () => Promise<T>) => Promise<T>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Counts calls in the store. LMDB lets one process at a time change the count. */
function createCallLedger(options: CallLedgerOptions): CallLedger {
  const { table, id, limit, write, now } = options;
  const key = `${id}:${limit.unit}`;
  const blockSize = blockSizeOf(limit);

  return {
    take: async () =>
      await write(() =>
        table.transaction(() => {
          const nowMs = now();
          const window = windowAt(limit.unit, nowMs);
          const taken = takenIn(table.get(key), window.id);
          const calls = Math.max(0, Math.min(blockSize, limit.count - taken));
          if (calls > 0) table.putSync(key, { window: window.id, taken: taken + calls });
          return { calls, window, nowMs };
        }),
      ),
    read: async () => {
      const window = windowAt(limit.unit, now());
      return { taken: takenIn(table.get(key), window.id), window };
    },
    giveBack: async (calls, window) =>
      await write(() =>
        table.transaction(() => {
          const taken = takenIn(table.get(key), window.id);
          if (taken >= calls) table.putSync(key, { window: window.id, taken: taken - calls });
        }),
      ),
  };
}

/** The calls taken in a window; 0 when the table holds another window. */
function takenIn(value: unknown, windowId: string): number {
  if (typeof value !== 'object' || value === null) return 0;
  const { window, taken } = value as { window?: unknown; taken?: unknown };
  return window === windowId && typeof taken === 'number' ? taken : 0;
}
