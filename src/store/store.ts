import { setTimeout as delay } from 'node:timers/promises';
import { isAnswer, type Outcome } from '../calls/outcome.ts';
import { type OpenOptions, openDatabase, type StoreDatabase } from './database.ts';
import type { Change, Table } from './engine.ts';
import { decodeHead, decodeOutcome, encodeOutcome, keyOf, splitKey, timeIn } from './entries.ts';
import { orDamage } from './failures.ts';
import type { Dated } from './freshness.ts';
import { createLogoNotes, noteApiName, openNotes } from './notes.ts';
import { openParts } from './parts.ts';
import { openReportedRows } from './reported.ts';

/**
 * Outcomes by domain, for one endpoint. Writes are committed in batches. The process owns the
 * folder until it is closed.
 *
 * Lookups that failed or are pending are stored apart from the answers. They say why a row has no
 * answer, and never replace an answer that was paid for.
 */
export type OutcomeStore = Awaited<ReturnType<typeof openOutcomes>>;

/** An API whose outcomes are stored. */
export interface StoredApi {
  /** Keeps its answers apart from those of others. */
  readonly endpointId: string;
  /** A name of the API, for people who maintain the store. No credential in it. @default none */
  readonly apiName?: string | undefined;
}

/**
 * Opens the store in a folder for the outcomes of one API or several. The folder is created if it
 * does not exist. Closing one closes all.
 *
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version,
 *   `STORE_IN_USE` when another process has it
 */
export async function openStores(
  folder: string,
  [first, ...further]: readonly [StoredApi, ...StoredApi[]],
  opening: OpenOptions = {},
): Promise<readonly [OutcomeStore, ...OutcomeStore[]]> {
  const database = await openDatabase(folder, opening);
  const openOne = (api: StoredApi) => openOutcomes(database, { ...opening, ...api });
  return [await openOne(first), ...(await Promise.all(further.map(openOne)))];
}

const MOST_LOOKED_AT = 1_000;
const ENOUGH_FOUND = 3;

async function openOutcomes(
  database: StoreDatabase,
  { endpointId, apiName, isBeside }: StoredApi & OpenOptions,
) {
  const { answers, failures } = database;
  if (apiName !== undefined) await noteApiName(database, endpointId, apiName);
  // Most stores hold no failures. Each row is then spared half of its lookups in the tables.
  let hasFailures = hasKeys(failures, endpointId);
  const writes = createOutcomeWrites(database, () => hasFailures);

  type Decode<T> = (key: string, value: Buffer) => T | undefined;

  function read<T>(table: Table<Buffer>, domain: string, decode: Decode<T>) {
    const at = keyOf(endpointId, domain);
    try {
      const value = writes.find(table, at) ?? table.getBinaryFast(at);
      return value && decode(at, value);
    } catch (error) {
      throw orDamage(database.folder, error);
    }
  }

  function latest<T extends Dated>(domain: string, decode: Decode<T>): T | undefined {
    const answer = read(answers, domain, decode);
    if (!hasFailures) return answer;
    const failure = read(failures, domain, decode);
    return failure && failure.fetchedAtMs > (answer?.fetchedAtMs ?? -1) ? failure : answer;
  }

  function put(outcome: Outcome): Promise<void> {
    hasFailures ||= !isAnswer(outcome.status);
    const table = isAnswer(outcome.status) ? answers : failures;
    const at = keyOf(endpointId, outcome.domain);
    return writes.put(table, at, encodeOutcome(at, outcome));
  }

  return {
    /** A unique id of this store. */
    id: database.id,
    /** Whether the endpoint has ever answered about a domain. */
    hasAnswers: (): boolean => hasKeys(answers, endpointId),
    /** Some domains that the endpoint has found, of the first that it was asked about. */
    foundDomains: (): readonly string[] =>
      firstKeys(answers, endpointId, MOST_LOOKED_AT)
        .map((key) => splitKey(key).domain)
        .filter((domain) => read(answers, domain, decodeHead)?.status === 'found')
        .slice(0, ENOUGH_FOUND),
    /** The head of the latest outcome: the answer, or the failure if that is newer. */
    findHead: (domain: string) => latest(domain, decodeHead),
    /** The latest outcome: the answer, or the failure if that is newer. */
    find: (domain: string) => latest(domain, decodeOutcome),
    /** The answer, even when a failure is newer. */
    findAnswer: (domain: string) => read(answers, domain, decodeOutcome),
    /**
     * Stores an outcome, which is found from now on. Storing it twice changes nothing. One that
     * cannot be stored is still found here, until the store is closed.
     *
     * @returns when it is committed, so that it survives if the process is killed
     * @throws BrandfillError `UNUSABLE_STORE` when it cannot be stored
     */
    put,
    /**
     * Dates an answer anew that a clock has dated which was ahead. Whoever does not own the store
     * changes nothing.
     */
    redate: (domain: string, fetchedAtMs: number): void => {
      const answer = isBeside ? undefined : read(answers, domain, decodeOutcome);
      if (answer) put({ ...answer, fetchedAtMs }).catch(() => {}); // told by `failed`
    },
    /** Resolves with the error of the first write that fails. No write succeeds after it. */
    failed: database.failed,
    ...openNotes(database),
    /** What was last reported of the rows of an output. */
    reported: (id: string) => openReportedRows(database, id),
    /** Notes on logos of the endpoint. */
    logos: createLogoNotes(database, endpointId),
    /** The files that outputs are written to until they are whole. */
    parts: openParts(database),
    /** Lets others of this process make lookups with this store. */
    leaveTurn: (): Promise<void> => database.leaveTurn(),
    /** Waits until they have. */
    takeTurn: (): Promise<void> => database.takeTurn(),
    /**
     * Waits until all outcomes put so far are on the disk, so that they survive a power failure.
     */
    flush: async (): Promise<void> => {
      await writes.latest(); // commits come one after the other
      await database.flush();
    },
    close: (): Promise<void> => database.close(),
  };
}

/** Whether a table has any key of an endpoint. LMDB would count all of them, whatever the limit. */
const hasKeys = (table: Table<Buffer>, endpointId: string): boolean =>
  firstKeys(table, endpointId, 1).length > 0;

function firstKeys(table: Table<Buffer>, endpointId: string, limit: number): readonly string[] {
  return [...table.getKeys({ start: `${endpointId}:`, end: `${endpointId};`, limit })];
}

const COMMIT_DELAY_MS = 10;

/**
 * Encoded outcomes that are written in one commit, by table and key. Dropped as a whole: a map that
 * is filled and emptied all the time keeps most of what was in it until all of memory is collected.
 */
interface Batch {
  readonly values: ReadonlyMap<Table<Buffer>, Map<string, Buffer>>;
  readonly written: Promise<void>;
}

/**
 * Writes outcomes. Those that arrive within a moment share a commit; each commit costs an fsync.
 */
function createOutcomeWrites(
  { answers, failures, commit }: StoreDatabase,
  hasFailures: () => boolean,
) {
  /** What waits for its commit, or could not be stored; the latest first. */
  const unstored: Batch[] = [];
  let gathering: Batch | undefined;
  let latest: Promise<void> = Promise.resolve();

  function openBatch(): Batch {
    const values = new Map([answers, failures].map((table) => [table, new Map<string, Buffer>()]));
    latest = delay(COMMIT_DELAY_MS).then(() => commitAll(batch));
    const batch = { values, written: latest };
    unstored.unshift(batch);
    return batch;
  }

  async function commitAll(batch: Batch): Promise<void> {
    gathering = undefined;
    await commit(changesOf(batch));
    unstored.splice(unstored.indexOf(batch), 1);
  }

  function* changesOf({ values }: Batch): Generator<Change> {
    for (const [table, puts] of values) {
      for (const [key, value] of puts) {
        yield { table, key, value };
        if (table === failures || !hasFailures()) continue;
        // Otherwise a failure dated in the future would count as the latest outcome for ever.
        const isLater = (timeIn(failures, key) ?? 0) > (decodeHead(key, value)?.fetchedAtMs ?? 0);
        if (isLater) yield { table: failures, key };
      }
    }
  }

  return {
    /** Resolves when it is committed. */
    put: (table: Table<Buffer>, key: string, value: Buffer): Promise<void> => {
      gathering ??= openBatch();
      gathering.values.get(table)?.set(key, value);
      return gathering.written;
    },
    /** What was put under a key, and is not in its table yet. */
    find: (table: Table<Buffer>, key: string): Buffer | undefined => {
      for (const { values } of unstored) {
        const value = values.get(table)?.get(key);
        if (value) return value;
      }
      return undefined;
    },
    latest: () => latest,
  };
}
