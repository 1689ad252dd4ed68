import { z } from 'zod';
import { findRoundedJson } from '../brand/json-object.ts';
import {
  ANSWER,
  createOutcomeCounts,
  DETAILS,
  detailsOf,
  isAnswer,
  OUTCOME_STATUSES,
  type Outcome,
  outcomeLine,
  splitReason,
} from '../calls/outcome.ts';
import type { StoreDatabase } from './database.ts';
import { type Change, STORE_VERSION } from './engine.ts';
import { decodeHead, decodeOutcome, encodeOutcome, keyOf, splitKey, timeIn } from './entries.ts';
import { findApiName } from './notes.ts';
import { forgetReported } from './reported.ts';
import { sizeOnDisk } from './store-files.ts';

// What is done with a store as a whole: outcomes are gone through, counted, pruned, deleted, and
// carried to another store.

/**
 * Goes through a store, or what it has under a key, answers first: an answer, or a failure that is
 * newer than the answer beside it. An answer with a newer failure beside it is not the latest.
 */
export function* readEntries({ answers, failures }: StoreDatabase, only?: string) {
  const range = only === undefined ? {} : { start: only, end: `${only}\0` };
  for (const table of [answers, failures]) {
    const isOfAnswers = table === answers;
    const other = isOfAnswers ? failures : answers;
    for (const { key, value } of table.getRange(range)) {
      const head = decodeHead(key, value);
      if (!head) continue;
      const otherMs = timeIn(other, key) ?? -1;
      const isLatest = isOfAnswers ? otherMs <= head.fetchedAtMs : otherMs < head.fetchedAtMs;
      /** Reads the whole outcome. */
      const read = (): Outcome | undefined => decodeOutcome(key, value);
      if (isLatest || isOfAnswers) yield { key, head, read, isLatest };
    }
  }
}

/** The latest outcome of a domain for each API, in the form of an export. */
export function findLines(database: StoreDatabase, domain: string): readonly string[] {
  return endpointIdsIn(database).flatMap((id) =>
    Array.from(readEntries(database, keyOf(id, domain))).flatMap(({ key, isLatest, read }) => {
      const outcome = isLatest ? read() : undefined;
      return outcome ? [formatOutcomeLine(key, outcome)] : [];
    }),
  );
}

/** All APIs that a store has something of. Keys are sorted, so each API takes one look. */
function endpointIdsIn({ answers, failures, logos }: StoreDatabase): readonly string[] {
  const ids = new Set<string>();
  for (const table of [answers, failures, logos]) {
    for (let start = ''; ; ) {
      const [key] = table.getKeys({ start, limit: 1 });
      if (key === undefined) break;
      const { endpointId } = splitKey(key);
      ids.add(endpointId);
      start = `${endpointId};`;
    }
  }
  return [...ids].sort();
}

/** The contents of a store, in numbers. */
export type StoreStats = ReturnType<typeof countStore>;
/** Domains with an outcome, by the status of the latest. */
export type ApiStats = StoreStats['apis'][number];

/** Counts what is in a store. */
export function countStore(database: StoreDatabase) {
  const apis = new Map<string, ReturnType<typeof noStats>>();
  for (const { key, head, isLatest } of readEntries(database)) {
    const api = splitKey(key).endpointId;
    const of = apis.get(api) ?? noStats(api, findApiName(database, api));
    apis.set(api, of);
    if (isLatest) of.statuses[head.status] += 1;
  }
  const { folder } = database;
  const sizeBytes = sizeOnDisk(folder);
  return { folder, version: STORE_VERSION, sizeBytes, apis: [...apis.values()] };
}

/** @param api its id, as in exported outcomes @param name undefined when no run has noted it */
function noStats(api: string, name: string | undefined) {
  return { api, name, statuses: createOutcomeCounts() };
}

/**
 * What is removed from. Notes of logos come last: they go with their answer, and their files stay.
 */
const TABLES = ['answers', 'failures', 'logos'] as const;
type TableName = (typeof TABLES)[number];

/** The counts of what was removed. */
export type Removed = Readonly<Record<TableName, number>>;

async function remove(
  database: StoreDatabase,
  keysIn: (name: TableName) => readonly string[],
): Promise<Removed> {
  const removed = { answers: 0, failures: 0, logos: 0 };
  for (const name of TABLES) {
    const keys = keysIn(name);
    await database.commit(keys.map((key) => ({ table: database[name], key })));
    removed[name] = keys.length;
  }
  return removed;
}

/**
 * Removes outcomes above an age in milliseconds, or dated that far in the future, and what was
 * reported of outputs that were not written for as long.
 */
export async function pruneStore(
  database: StoreDatabase,
  olderThanMs: number,
): Promise<Removed & { readonly reports: number }> {
  const nowMs = Date.now();
  const removed = await remove(database, (name) =>
    Array.from(database[name].getKeys()).filter((key) =>
      name === 'logos'
        ? !database.answers.doesExist(key)
        : Math.abs(nowMs - (timeIn(database[name], key) ?? nowMs)) > olderThanMs,
    ),
  );
  return { ...removed, reports: await forgetReported(database, olderThanMs) };
}

/**
 * Removes all that a store has of some domains: outcomes, and notes on logos.
 *
 * @returns also the domains that it had nothing of
 */
export async function deleteDomains(
  database: StoreDatabase,
  domains: readonly string[],
): Promise<Removed & { readonly unknown: readonly string[] }> {
  const ids = endpointIdsIn(database);
  const unknown = new Set(domains);
  const removed = await remove(database, (name) =>
    [...new Set(domains)].flatMap((domain) => {
      const found = ids
        .map((id) => keyOf(id, domain))
        .filter((key) => database[name].doesExist(key));
      if (found.length > 0) unknown.delete(domain);
      return found;
    }),
  );
  return { ...removed, unknown: [...unknown] };
}

/** An outcome on its way from one store to another. */
export interface TravellingOutcome {
  /** The id of its API in the store. */
  readonly endpointId: string;
  readonly outcome: Outcome;
}

/**
 * Puts outcomes into a store where it has no outcome of the domain as new. Returns how many were
 * put.
 */
export async function putNewer(
  { commit, answers, failures }: StoreDatabase,
  incoming: readonly TravellingOutcome[],
): Promise<number> {
  const newer = function* (): Generator<Change, number> {
    let count = 0;
    for (const { endpointId, outcome } of incoming) {
      const key = keyOf(endpointId, outcome.domain);
      const table = isAnswer(outcome.status) ? answers : failures;
      const tables = table === answers ? [answers] : [answers, failures];
      if (tables.some((each) => (timeIn(each, key) ?? -1) >= outcome.fetchedAtMs)) continue;
      yield { table, key, value: encodeOutcome(key, outcome) };
      count += 1;
    }
    return count;
  };
  return await commit(newer());
}

/** Writes an outcome as a line of an export, without the line end. */
export function formatOutcomeLine(key: string, outcome: Outcome): string {
  return outcomeLine({ api: splitKey(key).endpointId, domain: outcome.domain }, outcome);
}

const line = z.object({
  api: z.string().regex(/^[\w-]{1,64}$/),
  domain: z.string().min(1).max(253),
  status: z.enum(OUTCOME_STATUSES),
  ...Object.fromEntries(DETAILS.map(({ name, type }) => [name, type.optional()])),
  fetched_at: z.iso.datetime(),
  answer: z.record(z.string(), z.unknown()).optional(),
});

/** Reads a line. Returns a text that says what is wrong when it holds no outcome. */
export function parseOutcomeLine(text: string): TravellingOutcome | string {
  const parsed = line.safeParse(findRoundedJson(text));
  if (!parsed.success) {
    const name = parsed.error.issues[0]?.path.join('.') ?? '';
    return name === '' ? 'it is no JSON object' : `'${name}' is missing or not as exported`;
  }
  const { api, domain, status, fetched_at: fetchedAt } = parsed.data;
  const named: Readonly<Record<string, unknown>> = parsed.data;
  const at = text.indexOf(ANSWER);
  const json = status === 'found' ? text.slice(at + ANSWER.length, text.lastIndexOf('}')) : '';
  if (status === 'found' && (at === -1 || findRoundedJson(json) === undefined))
    return "'answer' is missing or not as exported";
  const details = splitReason(detailsOf(({ name }) => named[name]));
  const outcome = { domain, status, ...details, fetchedAtMs: Date.parse(fetchedAt), json };
  return { endpointId: api, outcome };
}
