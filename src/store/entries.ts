import type { Database } from 'lmdb';
import { isAnswer, type Outcome, type OutcomeStatus } from '../brand/outcome.ts';
import type { Shape } from '../brand/shape.ts';
import { decodeHead, decodeOutcome, encodeOutcome, type OutcomeHead } from './outcome-codec.ts';
import { keyOf, keysOf, type StoreTables, splitKey } from './tables.ts';

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
export function* readTable<T>(
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
  const head = decodeHead(value);
  const { endpointId, domain } = splitKey(key);
  return head && { endpointId, head, read: () => decodeOutcome(domain, value) };
}

/** When an outcome was fetched; undefined when there is none. */
export function timeIn(table: Database<Buffer, string>, key: string): number | undefined {
  const value = table.getBinaryFast(key);
  return value && decodeHead(value)?.fetchedAtMs;
}

/** An outcome from elsewhere. */
export interface IncomingOutcome {
  readonly endpointId: string;
  readonly outcome: Outcome;
  /** The columns of its answer; undefined when it has too many. */
  readonly shape: Shape | undefined;
}

/**
 * Puts outcomes into a store, in one transaction, where it has no outcome of the domain as new.
 *
 * @returns how many were put
 */
export async function putNewer(
  { root, lock, answers, failures, ready, shapes }: StoreTables,
  incoming: readonly IncomingOutcome[],
): Promise<number> {
  const encoded = incoming.map(({ endpointId, outcome, shape }) => {
    const shapeId = shapes.idOf(shape);
    const value = encodeOutcome(outcome, shapeId);
    return { key: keyOf(endpointId, outcome.domain), outcome, value, shapeId, shape };
  });
  const put = (): number => {
    let count = 0;
    for (const { key, outcome, value, shapeId, shape } of encoded) {
      const table = isAnswer(outcome.status) ? answers : failures;
      const isKnown = (timeIn(table, key) ?? -1) >= outcome.fetchedAtMs;
      const isOutdated = table === failures && (timeIn(answers, key) ?? -1) >= outcome.fetchedAtMs;
      if (isKnown || isOutdated) continue;
      table.putSync(key, value);
      ready.removeSync(key);
      shapes.keep(shapeId, shape);
      count += 1;
    }
    return count;
  };
  return await lock.hold(() => root.transaction(put));
}
