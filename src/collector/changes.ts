import { isAnswer } from '../calls/outcome.ts';
import { hashText } from '../common/hashes.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { ReportedRows } from '../store/reported.ts';
import { createCounts } from './counts.ts';
import type { JoinedRow } from './joined-row.ts';
import type { OutputColumn } from './output/output-columns.ts';

/** A change of a row that is to be reported. */
export interface Change {
  readonly kind: 'new' | 'changed';
  /** The columns that changed, joined with `;`. Empty for a new row. */
  readonly columns: string;
}

/** The changes of rows in this run, compared with the last run that reported them. */
export type Changes = ReturnType<typeof openChanges>;

/** What a row is known by. */
type Identified = Pick<JoinedRow, 'key' | 'domain'>;

/** A column whose values are compared. */
export interface ComparedColumn {
  readonly name: string;
  /**
   * Set if what is in it depends on which columns there are: it is compared while these are the
   * same.
   */
  readonly beside?: string | undefined;
  /** The row's value as it is written; undefined to keep what was reported before. */
  textOf(row: JoinedRow): string | undefined;
}

export interface ChangesOptions {
  /** The last report. */
  readonly reported: ReportedRows;
  readonly columns: readonly ComparedColumn[];
  /** Whether columns come and go with the answers alone, so that this is a change of them. */
  readonly reportsColumns: boolean;
}

const NEW: Change = { kind: 'new', columns: '' };
/** Holds the names of the columns of the last report. No key of a row begins like this. */
const NAMES_KEY = 'columns';

/**
 * Compares rows with what was reported before. A row is known by its key, else by its domain, and
 * the second of these by being the second. What is kept of it are two words for each column in
 * which it has a value: the hashes of the column's name and of the value.
 *
 * A row whose lookup failed or was not made has no change, even if it has an older answer. What was
 * reported before is kept. A column that somebody chose, or that
 * had no room in the last report, is no change either.
 */
export function openChanges({ reported, ...options }: ChangesOptions) {
  const columns = createColumns(readIds(reported), options);
  /** How many rows of this list have each key. */
  const rows = createCounts();
  const counts = { new: 0, changed: 0 };

  /** The key of a row, and what was reported of it. */
  function recall(row: Identified) {
    const key = keyOf(row, rows.add);
    const stored = key === undefined ? undefined : reported.find(key);
    return { key, stored, before: stored && toWords(stored) };
  }

  function find(row: JoinedRow): Change | undefined {
    const { key, stored, before } = recall(row);
    if (key === undefined) return undefined;
    if (!hasSomethingToTell(row, before !== undefined)) {
      if (before) columns.use(before);
      return undefined;
    }
    const old = toMap(before ?? new Uint32Array());
    const pairs = columns.pairsOf(row, old);
    columns.use(pairs);
    const bytes = Buffer.from(pairs.buffer);
    if (stored?.length === bytes.length && bytes.equals(stored)) return undefined;
    reported.put(key, bytes);
    if (!before) return NEW;
    const changed = columns.differing(old, toMap(pairs));
    return changed.length === 0 ? undefined : { kind: 'changed', columns: changed.join(';') };
  }

  return {
    /** The change of a row, if any. Must be called once for each row, in their order. */
    find: (row: JoinedRow): Change | undefined => {
      const change = find(row);
      if (change) counts[change.kind] += 1;
      return change;
    },
    /** Keeps what was reported of a row that this run leaves out, in its place among the others. */
    keep: (row: Identified): void => {
      const { before } = recall(row);
      if (before) columns.use(before);
    },
    /**
     * Makes this the last report. Must be called once the changes file is in its place.
     *
     * @throws BrandfillError `UNUSABLE_STORE`
     */
    commit: async (): Promise<void> => {
      for (const key of reported.keys()) {
        const { identity, place } = readKey(key);
        if (key !== NAMES_KEY && rows.of(identity) < place) reported.remove(key);
      }
      reported.put(NAMES_KEY, Buffer.from(JSON.stringify(columns.inUse())));
      await reported.commit();
    },
    /** How many rows had a change so far. */
    counts,
  };
}

/**
 * The columns of this report and of those before, each known by a hash. What a row has of them is
 * pairs of such a hash and that of its value.
 *
 * @param before the columns of the last report
 */
function createColumns(
  before: readonly string[],
  { columns, reportsColumns }: Omit<ChangesOptions, 'reported'>,
) {
  const ids = new Map(before.map((id) => [hashOf(id), id]));
  const wasThere = new Set(ids.keys());
  const compared = columns.map((column) => ({ ...column, hash: hashOf(idOf(column)) }));
  const present = new Set(compared.map(({ hash }) => hash));
  for (const column of compared) ids.set(column.hash, idOf(column));
  const used = new Set<number>();
  return {
    pairsOf: (row: JoinedRow, reported: ReadonlyMap<number, number>): Uint32Array => {
      const pairs: number[] = [];
      for (const column of compared) {
        const { hash } = column;
        const text = column.textOf(row);
        const value = text === undefined ? (reported.get(hash) ?? 0) : hashOf(text);
        if (value !== 0) pairs.push(hash, value);
      }
      return Uint32Array.from(pairs);
    },
    /** The names of the columns that differ. */
    differing: (
      reported: ReadonlyMap<number, number>,
      after: ReadonlyMap<number, number>,
    ): string[] => {
      const changed = compared
        .filter(({ hash, beside }) => (reportsColumns && !beside) || wasThere.has(hash))
        .filter(({ hash }) => reported.get(hash) !== after.get(hash))
        .map(({ name }) => name);
      const gone = [...reported.keys()].filter((hash) => reportsColumns && !present.has(hash));
      const lost = gone.map((hash) => ids.get(hash) ?? BESIDE).filter((id) => !id.includes(BESIDE));
      return [...new Set([...changed, ...lost])];
    },
    /** Notes that these are reported of a row. */
    use: (pairs: Uint32Array): void => {
      for (let at = 0; at < pairs.length; at += 2) used.add(pairs[at] ?? 0);
    },
    /** Those of this report, and those that some row keeps. */
    inUse: () => [...new Set([...present, ...used])].flatMap((hash) => ids.get(hash) ?? []),
  };
}

/**
 * Such as `d acme.com` for the first row of a domain and `d acme.com 2` for the second.
 */
function keyOf(
  { key, domain }: Identified,
  placeOf: (identity: string) => number,
): string | undefined {
  if (key === '' && domain === '') return undefined;
  const identity = key === '' ? `d ${domain}` : `k ${key}`;
  const place = placeOf(identity);
  return place === 1 ? identity : `${identity} ${place}`;
}

function readKey(key: string): { readonly identity: string; readonly place: number } {
  const [kind, name, place = '1'] = key.split(' ');
  return { identity: `${kind} ${name}`, place: Number(place) };
}

/** The loss of a row's domain is reported only if the row was reported before. */
function hasSomethingToTell({ status }: JoinedRow, isKnown: boolean): boolean {
  return status === 'invalid' ? isKnown : isAnswer(status);
}

function readIds(reported: ReportedRows): readonly string[] {
  const bytes = reported.find(NAMES_KEY);
  const ids: unknown = bytes ? JSON.parse(Buffer.from(bytes).toString()) : [];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
}

const BESIDE = '\n';

/** What a column is known by from night to night. */
function idOf({ name, beside }: ComparedColumn): string {
  return beside === undefined ? name : name + BESIDE + beside;
}

function toWords(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer); // bytes of the store may be unaligned
}

function toMap(pairs: Uint32Array): ReadonlyMap<number, number> {
  const map = new Map<number, number>();
  for (let at = 0; at < pairs.length; at += 2) map.set(pairs[at] ?? 0, pairs[at + 1] ?? 0);
  return map;
}

const scratch = new Uint32Array(2);

/** A 32-bit hash of a text; 0 for the empty text only. */
function hashOf(text: string): number {
  if (text === '') return 0;
  hashText(text, 0, scratch, 0);
  return scratch[0] || 1;
}

/** The columns of the output as they are compared: by the text that is written. */
export function comparedColumnsOf(
  columns: readonly OutputColumn[],
  format: Pick<RowFormat, 'textOf'>,
): readonly ComparedColumn[] {
  const names = columns.map(({ name }) => name).join('\n');
  return columns
    .filter(({ isCompared = true }) => isCompared)
    .map((column) => ({
      name: column.name,
      beside: column.isRest ? String(hashOf(names)) : undefined,
      textOf: (row) => format.textOf(column.valueOf(row)),
    }));
}
