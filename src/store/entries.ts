import type { Database } from 'lmdb';
import { isAnswer, type Outcome, type OutcomeStatus } from '../brand/outcome.ts';
import type { Shape } from '../brand/shape.ts';
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

/**
 * The layout of an outcome in the store. A fixed head can be read without decoding the rest,
 * because most readers only need the age of an outcome.
 *
 * | bytes | content |
 * |---|---|
 * | 1 | version of this layout |
 * | 1 | status, as its place in {@link STATUSES} |
 * | 2 | HTTP status, 0 for none |
 * | 2 | attempts |
 * | 8 | fetched at, milliseconds since 1970, as a double |
 * | 6 | shape of the answer, 0 for none |
 * | 2 | length of the reason |
 * | … | reason, then the answer's JSON, both UTF-8 |
 */
const LAYOUT_VERSION = 1;
const HEAD_BYTES = 22;
const AT = {
  status: 1,
  httpStatus: 2,
  attempts: 4,
  fetchedAt: 6,
  shape: 14,
  reasonLength: 20,
} as const;
const STATUSES: readonly OutcomeStatus[] = ['found', 'not_found', 'rejected', 'failed', 'pending'];
const MAX_U16 = 0xffff;
const NOTHING = Buffer.alloc(0);

/** The contents of an outcome's head. */
export interface OutcomeHead {
  readonly status: OutcomeStatus;
  readonly fetchedAtMs: number;
  /** The number of the answer's columns: see the store's shapes. 0 for none. */
  readonly shapeId: number;
}

/** Encodes an outcome. Its domain is the key, not part of the value. */
export function encodeOutcome(outcome: Outcome, shapeId: number): Buffer {
  // Most outcomes have no reason, and creating an empty buffer takes as long as creating another.
  const reason = outcome.reason === '' ? NOTHING : Buffer.from(outcome.reason).subarray(0, MAX_U16);
  const jsonBytes = Buffer.byteLength(outcome.json);
  const value = Buffer.allocUnsafe(HEAD_BYTES + reason.length + jsonBytes);
  value[0] = LAYOUT_VERSION;
  value[AT.status] = STATUSES.indexOf(outcome.status);
  value.writeUInt16LE(outcome.httpStatus ?? 0, AT.httpStatus);
  value.writeUInt16LE(Math.min(outcome.attempts, MAX_U16), AT.attempts);
  value.writeDoubleLE(outcome.fetchedAtMs, AT.fetchedAt);
  value.writeUIntLE(shapeId, AT.shape, 6);
  value.writeUInt16LE(reason.length, AT.reasonLength);
  reason.copy(value, HEAD_BYTES);
  value.write(outcome.json, HEAD_BYTES + reason.length);
  return value;
}

/** Reads the head of an encoded outcome; undefined when the value is not one. */
export function decodeHead(value: Buffer): OutcomeHead | undefined {
  const status = STATUSES[value[AT.status] ?? -1];
  if (value[0] !== LAYOUT_VERSION || value.length < HEAD_BYTES || !status) return undefined;
  return {
    status,
    fetchedAtMs: value.readDoubleLE(AT.fetchedAt),
    shapeId: value.readUIntLE(AT.shape, 6),
  };
}

/**
 * Reads an encoded outcome; undefined when the value is not one.
 *
 * @param value may be a view of a larger buffer with only its `length` set, as `getBinaryFast` of
 *   lmdb returns. Since version 24, Node.js reads beyond that length unless it is told the end.
 */
export function decodeOutcome(domain: string, value: Buffer): Outcome | undefined {
  const head = decodeHead(value);
  if (!head) return undefined;
  const jsonStart = HEAD_BYTES + value.readUInt16LE(AT.reasonLength);
  return {
    domain,
    status: head.status,
    fetchedAtMs: head.fetchedAtMs,
    httpStatus: value.readUInt16LE(AT.httpStatus) || undefined,
    attempts: value.readUInt16LE(AT.attempts),
    reason: value.toString('utf8', HEAD_BYTES, jsonStart),
    json: value.toString('utf8', jsonStart, value.length),
  };
}
