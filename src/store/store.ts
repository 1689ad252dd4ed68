import type { Database } from 'lmdb';
import { isAnswer, type Outcome } from '../brand/outcome.ts';
import type { BrandfillError } from '../common/errors.ts';
import type { CallLedger, CallsPer } from '../worker/budget.ts';
import { decodeHead, decodeOutcome, encodeOutcome, type OutcomeHead, timeIn } from './entries.ts';
import type { OpenLmdbOptions } from './lmdb-file.ts';
import {
  createCallLedger,
  createLogoNotes,
  findPace,
  type LogoNotes,
  paceKey,
  type SavedPace,
} from './notes.ts';
import { openReportedRows, type ReportedRows } from './reported.ts';
import { hasKeys, keyOf, noteApiName, openTables, type StoreTables } from './tables.ts';
import { createCommitBatches, isLmdbError, readError } from './writes.ts';

/**
 * Outcomes by domain, for one endpoint. Writes are committed in batches. The process owns the folder
 * until it is closed.
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
   * Stores an outcome, which is found from now on. Storing it twice changes nothing. One that cannot
   * be stored is still found here, until the store is closed.
   *
   * @returns when it is committed, so that it survives if the process is killed
   * @throws BrandfillError `UNUSABLE_STORE` when it cannot be stored
   */
  put(outcome: Outcome): Promise<void>;
  /** Resolves with the error of the first write that fails. No write succeeds after it. */
  readonly failed: Promise<BrandfillError>;
  /** The pace that was saved under an id; undefined when there is none, or it is malformed. */
  findPace(id: string): SavedPace | undefined;
  /** Saves a pace in place of an earlier one, from whichever run. */
  savePace(id: string, pace: SavedPace): Promise<void>;
  /** What was last reported of the rows of an output. */
  reported(id: string): ReportedRows;
  /** Notes on the logos that answers point to. */
  readonly logos: LogoNotes;
  /** Counts calls of all runs on this store with one credential, which the id stands for. */
  openCallLedger(id: string, limit: CallsPer): CallLedger;
  /** Waits until all commits are on the disk, so that they survive a power failure. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions extends OpenLmdbOptions {
  /** A name of the API, for people who maintain the store. No credential in it. @default none */
  readonly apiName?: string | undefined;
}

/**
 * Opens the store in a folder, which is created if it does not exist.
 *
 * @param endpointId keeps the answers of different APIs apart
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version,
 *   `STORE_IN_USE` when another process has it
 */
export async function openStore(
  folder: string,
  endpointId: string,
  { apiName, ...opening }: StoreOptions = {},
): Promise<OutcomeStore> {
  const tables = await openTables(folder, opening);
  if (apiName !== undefined) await noteApiName(tables, endpointId, apiName);
  const { answers, write } = tables;
  const outcomes = openOutcomes(tables, endpointId);
  /** A read that says what is wrong with the store when LMDB fails. */
  const explained =
    <A extends readonly unknown[], T>(read: (...of: A) => T) =>
    (...of: A): T => {
      try {
        return read(...of);
      } catch (error) {
        throw isLmdbError(error) ? readError(folder, error) : error;
      }
    };
  return {
    id: tables.id,
    hasAnswers: () => hasKeys(answers, endpointId),
    findHead: explained((domain) => outcomes.findHead(domain)),
    find: explained((domain) => outcomes.find(domain)),
    findAnswerHead: explained((domain) => outcomes.findAnswerHead(domain)),
    findAnswer: explained((domain) => outcomes.findAnswer(domain)),
    put: (outcome) => outcomes.put(outcome),
    failed: tables.failed,
    findPace: (id) => findPace(tables, id),
    savePace: async (id, pace) => {
      await write(() => tables.meta.put(paceKey(id), pace));
    },
    reported: (id) => openReportedRows(tables, id),
    logos: createLogoNotes(tables, endpointId),
    openCallLedger: (id, limit) => createCallLedger(tables, id, limit),
    flush: async () => {
      await outcomes.settle();
      await tables.flush();
    },
    close: () => tables.close(),
  };
}

/** A store that is empty and keeps nothing, for reading only. */
export function createEmptyStore(): OutcomeStore {
  const nothing = (): undefined => undefined;
  const done = async (): Promise<void> => {};
  return {
    id: '',
    hasAnswers: () => false,
    findHead: nothing,
    find: nothing,
    findAnswerHead: nothing,
    findAnswer: nothing,
    put: done,
    failed: new Promise(() => {}),
    findPace: nothing,
    savePace: done,
    reported: () => ({
      find: nothing,
      keys: () => [],
      put: nothing,
      remove: nothing,
      commit: done,
    }),
    logos: { find: nothing, put: done },
    openCallLedger: () => {
      throw new Error('Cannot count calls in a store that keeps nothing.');
    },
    flush: done,
    close: done,
  };
}

interface Outcomes
  extends Pick<OutcomeStore, 'findHead' | 'find' | 'findAnswerHead' | 'findAnswer' | 'put'> {
  /** Waits until all that was put is committed. */
  settle(): Promise<void>;
}

/** An outcome that waits for its commit. Its answer is no longer needed in memory. */
interface EncodedOutcome {
  readonly table: Database<Buffer, string>;
  readonly at: string;
  readonly value: Buffer;
  readonly fetchedAtMs: number;
}

/** The outcomes of one endpoint: those in the tables, and those that wait for their commit. */
function openOutcomes(tables: StoreTables, endpointId: string): Outcomes {
  const { answers, failures, write } = tables;
  /** What waits, or could not be stored, by its key. */
  const waiting = new Map([answers, failures].map((table) => [table, new Map<string, Buffer>()]));
  // Most stores hold no failures. Each row is then spared half of its lookups in the tables.
  let hasFailures = hasKeys(failures, endpointId);

  const batches = createCommitBatches<EncodedOutcome>(async (batch) => {
    // Puts in one turn of the event loop share one transaction and one reply of lmdb.
    await write(() => Promise.all(batch.flatMap(commit)));
    for (const { table, at, value } of batch) {
      const ofTable = waiting.get(table);
      if (ofTable?.get(at) === value) ofTable.delete(at);
    }
  });

  function commit({ table, at, value, fetchedAtMs }: EncodedOutcome): readonly Promise<boolean>[] {
    const puts = [table.put(at, value)];
    if (table === failures || !hasFailures) return puts;
    // Otherwise a failure dated in the future would count as the latest outcome for ever.
    return (timeIn(failures, at) ?? 0) > fetchedAtMs ? [...puts, failures.remove(at)] : puts;
  }

  type Decode<T> = (key: string, value: Buffer) => T | undefined;

  function read<T>(
    table: Database<Buffer, string>,
    domain: string,
    decode: Decode<T>,
  ): T | undefined {
    const at = keyOf(endpointId, domain);
    const value = waiting.get(table)?.get(at) ?? table.getBinaryFast(at);
    return value && decode(at, value);
  }

  function latest<T extends OutcomeHead | Outcome>(
    domain: string,
    decode: Decode<T>,
  ): T | undefined {
    const answer = read(answers, domain, decode);
    if (!hasFailures) return answer;
    const failure = read(failures, domain, decode);
    return failure && failure.fetchedAtMs > (answer?.fetchedAtMs ?? -1) ? failure : answer;
  }

  return {
    findHead: (domain) => latest(domain, decodeHead),
    find: (domain) => latest(domain, decodeOutcome),
    findAnswerHead: (domain) => read(answers, domain, decodeHead),
    findAnswer: (domain) => read(answers, domain, decodeOutcome),
    put: (outcome) => {
      hasFailures ||= !isAnswer(outcome.status);
      const table = isAnswer(outcome.status) ? answers : failures;
      const at = keyOf(endpointId, outcome.domain);
      const value = encodeOutcome(at, outcome);
      waiting.get(table)?.set(at, value);
      return batches.add({ table, at, value, fetchedAtMs: outcome.fetchedAtMs });
    },
    settle: () => batches.settle(),
  };
}
