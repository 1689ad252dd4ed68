import type { Database } from 'lmdb';
import { isAnswer, type Outcome, type OutcomeStatus } from '../brand/outcome.ts';
import { DAY_MS } from '../common/format.ts';
import { decodeHead, decodeOutcome, encodeOutcome, type OutcomeHead, timeIn } from './entries.ts';
import { STORE_VERSION } from './lmdb-file.ts';
import { findLogoNote } from './notes.ts';
import type { Deleted, Pruned, StoreStats } from './stats.ts';
import { sizeOnDisk } from './store-files.ts';
import { endpointIdsIn, findApiName, keyOf, keysOf, type StoreTables, splitKey } from './tables.ts';

// What is done with a store as a whole: outcomes are gone through, put in from elsewhere, counted,
// pruned and deleted.

/** Selects outcomes of a store. */
export interface EntryFilter {
  /** @default outcomes of all APIs */
  readonly endpointId?: string | undefined;
  /** @default all */
  readonly status?: OutcomeStatus | undefined;
}

/** One outcome in the store: an answer, or a failure that is newer than the answer beside it. */
export interface StoredEntry {
  readonly endpointId: string;
  readonly head: OutcomeHead;
  /** Reads the whole outcome. */
  readonly read: () => Outcome | undefined;
  /** Whether it is the latest of its domain. An answer with a newer failure beside it is not. */
  readonly isLatest: boolean;
}

/**
 * The entries of a batch are read at once and then released, so that writers need not keep them. An
 * answer may have megabytes.
 */
const BATCH = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** Goes through a store in batches, answers first. Each batch is read when its turn comes. */
export function* readEntries(
  { answers, failures }: StoreTables,
  { endpointId, status }: EntryFilter = {},
): Generator<readonly StoredEntry[]> {
  const isWanted = (head: OutcomeHead): boolean => status === undefined || head.status === status;
  if (status === undefined || isAnswer(status)) {
    for (const batch of readTable(answers, endpointId)) {
      yield batch.flatMap(({ key, value }) => {
        const entry = toEntry(key, value);
        if (!entry || !isWanted(entry.head)) return [];
        const isLatest = (timeIn(failures, key) ?? -1) <= entry.head.fetchedAtMs;
        return [{ ...entry, isLatest }];
      });
    }
  }
  if (status !== undefined && isAnswer(status)) return;
  for (const batch of readTable(failures, endpointId)) {
    yield batch.flatMap(({ key, value }) => {
      const entry = toEntry(key, value);
      const isLatest = entry && (timeIn(answers, key) ?? -1) < entry.head.fetchedAtMs;
      return isLatest && isWanted(entry.head) ? [{ ...entry, isLatest }] : [];
    });
  }
}

/** Keys and values of a table, in batches that are read at once. */
function* readTable<T>(
  table: Database<T, string>,
  endpointId: string | undefined,
): Generator<readonly { readonly key: string; readonly value: T }[]> {
  const { start: first, end } = keysOf(endpointId);
  for (let start = first; ; ) {
    const bounds = { ...(start === undefined ? {} : { start }), ...(end ? { end } : {}) };
    const batch: { readonly key: string; readonly value: T }[] = [];
    let sizeBytes = 0;
    for (const { key, value } of table.getRange({ ...bounds, limit: BATCH })) {
      batch.push({ key, value });
      sizeBytes += Buffer.isBuffer(value) ? value.length : 0;
      if (sizeBytes >= BATCH_BYTES) break;
    }
    const last = batch.at(-1);
    if (!last) return;
    yield batch;
    start = `${last.key}\0`; // the smallest key after it
  }
}

function toEntry(key: string, value: Buffer): Omit<StoredEntry, 'isLatest'> | undefined {
  const head = decodeHead(key, value);
  const { endpointId } = splitKey(key);
  return head && { endpointId, head, read: () => decodeOutcome(key, value) };
}

/** An outcome from elsewhere. */
export interface IncomingOutcome {
  readonly endpointId: string;
  readonly outcome: Outcome;
}

/**
 * Puts outcomes into a store where it has no outcome of the domain as new.
 *
 * @param ofApi the API that they are of, whichever they name. @default the one they name
 * @returns how many were put
 */
export async function putNewer(
  { root, write, answers, failures }: StoreTables,
  incoming: readonly IncomingOutcome[],
  ofApi?: string,
): Promise<number> {
  const put = (): number => {
    let count = 0;
    for (const { endpointId, outcome } of incoming) {
      const key = keyOf(ofApi ?? endpointId, outcome.domain);
      const table = isAnswer(outcome.status) ? answers : failures;
      const tables = table === answers ? [answers] : [answers, failures];
      if (tables.some((each) => (timeIn(each, key) ?? -1) >= outcome.fetchedAtMs)) continue;
      table.putSync(key, encodeOutcome(key, outcome));
      count += 1;
    }
    return count;
  };
  return await write(() => root.transaction(put));
}

const AGES_DAYS = [1, 7, 30, 90, 180, 365];

/** Counts what is in a store. */
export function countStore(
  tables: StoreTables,
  {
    folder,
    endpointId,
    nowMs,
  }: { readonly folder: string; readonly endpointId: string | undefined; readonly nowMs: number },
): StoreStats {
  const statuses = noStatuses();
  const apis = new Map<string, Record<OutcomeStatus, number>>();
  const ages = Array.from({ length: AGES_DAYS.length + 1 }, () => 0);
  let oldestAtMs: number | undefined;
  let newestAtMs: number | undefined;

  for (const entries of readEntries(tables, { endpointId })) {
    for (const { endpointId: api, head, isLatest } of entries) {
      if (!isLatest) continue;
      const { status, fetchedAtMs } = head;
      const ofApi = apis.get(api) ?? noStatuses();
      apis.set(api, ofApi);
      ofApi[status] += 1;
      statuses[status] += 1;
      const place = AGES_DAYS.findIndex((days) => nowMs - fetchedAtMs < days * DAY_MS);
      const at = place === -1 ? AGES_DAYS.length : place;
      ages[at] = (ages[at] ?? 0) + 1;
      oldestAtMs = Math.min(oldestAtMs ?? fetchedAtMs, fetchedAtMs);
      newestAtMs = Math.max(newestAtMs ?? fetchedAtMs, fetchedAtMs);
    }
  }
  let logos = 0;
  for (const batch of readTable(tables.logos, endpointId)) {
    logos += batch.filter(({ key }) => findLogoNote(tables.logos, key)?.saved).length;
  }

  return {
    folder,
    version: STORE_VERSION,
    sizeBytes: sizeOnDisk(folder),
    statuses,
    apis: [...apis].map(([api, ofApi]) => ({
      api,
      name: findApiName(tables.meta, api),
      statuses: ofApi,
    })),
    ages: ages.map((outcomes, at) => ({ underDays: AGES_DAYS[at], outcomes })),
    oldestAtMs,
    newestAtMs,
    logos,
  };
}

function noStatuses(): Record<OutcomeStatus, number> {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
}

export interface PruneOptions {
  /**
   * The age in milliseconds above which outcomes are removed. Outcomes dated that far in the future
   * are removed too.
   */
  readonly olderThanMs: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Whether to count without removing. */
  readonly dryRun: boolean;
}

type IsOld = (key: string) => boolean;

/** Removes old outcomes from a store. */
export async function pruneTables(tables: StoreTables, options: PruneOptions): Promise<Pruned> {
  const { write, answers, failures, logos } = tables;
  const isOldAt = (atMs: number | undefined): boolean =>
    atMs !== undefined && Math.abs(options.nowMs - atMs) > options.olderThanMs;
  const isOldIn =
    (table: Database<Buffer, string>): IsOld =>
    (key) =>
      isOldAt(timeIn(table, key));
  async function prune<T>(table: Database<T, string>, isOld: IsOld): Promise<number> {
    let count = 0;
    for (const batch of readTable(table, options.endpointId)) {
      const keys = batch.map(({ key }) => key).filter(isOld);
      count += keys.length;
      if (!options.dryRun) await write(() => removeKeys(table, keys));
    }
    return count;
  }

  const counts = {
    answers: await prune(answers, isOldIn(answers)),
    failures: await prune(failures, isOldIn(failures)),
    logos: await prune(logos, (key) => !answers.doesExist(key) || isOldIn(answers)(key)),
  };
  return counts;
}

export interface DeleteDomainsOptions {
  readonly domains: readonly string[];
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Whether to count without removing. */
  readonly dryRun: boolean;
}

/** Removes all that a store has of some domains: outcomes, and notes on logos. */
export async function deleteDomains(
  tables: StoreTables,
  { domains, endpointId, dryRun }: DeleteDomainsOptions,
): Promise<Deleted> {
  const { write, answers, failures, logos } = tables;
  const ids = endpointId === undefined ? endpointIdsIn(tables) : [endpointId];
  const unknown = new Set(domains);

  async function removeFrom<T>(table: Database<T, string>): Promise<number> {
    const keys: string[] = [];
    for (const domain of new Set(domains)) {
      const found = ids.map((id) => keyOf(id, domain)).filter((key) => table.doesExist(key));
      if (found.length > 0) unknown.delete(domain);
      keys.push(...found);
    }
    if (!dryRun) await write(() => removeKeys(table, keys));
    return keys.length;
  }

  const counts = {
    answers: await removeFrom(answers),
    failures: await removeFrom(failures),
    logos: await removeFrom(logos),
  };
  return { ...counts, unknown: [...unknown] };
}

async function removeKeys<T>(table: Database<T, string>, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => table.remove(key)));
}
