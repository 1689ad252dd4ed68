import { isAnswer } from '../../brand/outcome.ts';
import { hashText } from '../../common/hashes.ts';
import type { JoinedRow } from '../joined-row.ts';
import {
  AT,
  areFlat,
  RECORD_HEAD_WORDS as HEAD,
  type Manifest,
  type ManifestColumn,
  type ManifestWriter,
} from './manifest.ts';

/** A change of a row that is to be reported. */
export interface Change {
  readonly kind: 'new' | 'changed';
  /** The columns that changed, joined with `;`. Empty for a new row. */
  readonly columns: string;
}

/** A column whose values are compared. */
export interface ComparedColumn extends ManifestColumn {
  /** The output column that holds it. @default its name */
  readonly label?: string;
  /** The row's value as it is written; undefined to keep what was reported before. */
  textOf(row: JoinedRow): string | undefined;
  /** Whether it may differ for the same outcome, because it depends on the row's own cells. */
  readonly dependsOnRow: boolean;
}

export interface ChangeFinderOptions {
  /** The domain comes first. */
  readonly columns: readonly ComparedColumn[];
  /** The last report. */
  readonly before: Manifest | undefined;
  /** Receives what is reported now. Its columns are those of {@link layoutOf}. */
  readonly after: ManifestWriter;
}

/** Finds the change of a row, and notes it. Must be called once for each row, in their order. */
export type ChangeFinder = (row: JoinedRow) => Change | undefined;

/**
 * The columns of the next manifest: those that are compared, and those that the output no longer
 * has but that still hold values of rows that could not be asked.
 */
export function layoutOf(
  columns: readonly ManifestColumn[],
  before: Manifest | undefined,
  keepsLost: boolean,
): readonly ManifestColumn[] {
  const names = new Set(columns.map(({ name }) => name));
  const lost = before?.columns.filter(({ name }) => !names.has(name) && !before.unused.has(name));
  return [...columns, ...(keepsLost ? (lost ?? []) : [])].map(({ name, expression }) => ({
    name,
    expression,
  }));
}

const NEW: Change = { kind: 'new', columns: '' };
/** Keeps identities by key apart from those by domain. */
const SEED = { domain: 1, key: 2 };

/**
 * Compares rows with what was reported before. An outcome with the same time of fetching is the
 * same: its values are not compared, unless a column is now made in another way.
 *
 * A row whose lookup failed or was not made has no change, even if it has an older answer. What was reported before is kept.
 */
export function createChangeFinder({ columns, before, after }: ChangeFinderOptions): ChangeFinder {
  const table = before && createRecordTable(before.readIds());
  const old = before?.words ?? new Uint32Array();
  const { words, columns: layout } = after;
  const width = layout.length;
  /** The index of each column in the earlier records; -1 when it is not there. */
  const oldPlaces = layout.map(
    ({ name }) => before?.columns.findIndex((column) => column.name === name) ?? -1,
  );
  const isMadeAlike = layout.map(
    ({ expression }, at) => before?.columns[oldPlaces[at] ?? -1]?.expression === expression,
  );
  const isSameLayout =
    before?.columns.length === width &&
    oldPlaces.every((place, at) => place === at && isMadeAlike[at]);
  // The same answer may be spread over other columns then, but nothing in it is new.
  const isFlatAgain = before !== undefined && areFlat(before.columns) && areFlat(columns);
  const id = new Uint32Array(2);

  /** @returns false for a row that has no identity */
  function identify({ key, domain }: JoinedRow): boolean {
    if (key !== '') hashText(key, SEED.key, id, 0);
    else if (domain !== '') hashText(domain, SEED.domain, id, 0);
    else return false;
    return true;
  }

  function oldHash(from: number, column: number): number {
    const place = oldPlaces[column] ?? -1;
    return place === -1 ? 0 : (old[from + HEAD + place] ?? 0);
  }

  function begin(fetchedLow: number, fetchedHigh: number): number {
    const to = after.add();
    words[to + AT.idLow] = id[0] ?? 0;
    words[to + AT.idHigh] = id[1] ?? 0;
    words[to + AT.fetchedLow] = fetchedLow;
    words[to + AT.fetchedHigh] = fetchedHigh;
    return to;
  }

  /** Notes again what was reported before. */
  function keep(from: number): void {
    const to = begin(old[from + AT.fetchedLow] ?? 0, old[from + AT.fetchedHigh] ?? 0);
    for (let column = 0; column < width; column += 1) {
      put(to, column, isSameLayout ? (old[from + HEAD + column] ?? 0) : oldHash(from, column));
    }
  }

  function put(to: number, column: number, hash: number): void {
    words[to + HEAD + column] = hash;
    if (hash !== 0 && column >= columns.length) after.use(column);
  }

  function addNew(row: JoinedRow): Change {
    const to = begin(lowOf(row.fetchedAtMs), highOf(row.fetchedAtMs));
    for (let column = 0; column < width; column += 1) {
      put(to, column, hashOfValue(columns[column]?.textOf(row) ?? ''));
    }
    return NEW;
  }

  function isSameOutcome({ fetchedAtMs, key, domain }: JoinedRow, from: number): boolean {
    return (
      old[from + AT.fetchedLow] === lowOf(fetchedAtMs) &&
      old[from + AT.fetchedHigh] === highOf(fetchedAtMs) &&
      (key === '' || oldHash(from, 0) === hashOfValue(domain))
    );
  }

  function compare(row: JoinedRow, from: number): Change | undefined {
    const isSame = isSameOutcome(row, from);
    if (isSame && isSameLayout && row.blanks === 0) {
      keep(from);
      return undefined;
    }
    const to = begin(lowOf(row.fetchedAtMs), highOf(row.fetchedAtMs));
    const changed = new Set<string>();
    for (let column = 0; column < width; column += 1) {
      const reported = oldHash(from, column);
      const compared = columns[column];
      let hash = reported;
      if (!compared) hash = 0;
      else if (!isSame || !isMadeAlike[column] || compared.dependsOnRow) {
        const text = compared.textOf(row);
        if (text !== undefined) hash = hashOfValue(text);
      }
      put(to, column, hash);
      const isNew = !isSame || !isFlatAgain || compared?.dependsOnRow === true;
      if (hash !== reported && isNew) changed.add(compared?.label ?? layout[column]?.name ?? '');
    }
    return changed.size === 0 ? undefined : { kind: 'changed', columns: [...changed].join(';') };
  }

  return (row) => {
    if (!identify(row)) return undefined;
    const record = table?.take(id[0] ?? 0, id[1] ?? 0) ?? -1;
    const isKnown = before !== undefined && record !== -1;
    if (!hasSomethingToTell(row, isKnown)) {
      if (isKnown) keep(before.read(record));
      return undefined;
    }
    return isKnown ? compare(row, before.read(record)) : addNew(row);
  };
}

/** The loss of a row's domain is reported only if the row was reported before. */
function hasSomethingToTell({ status }: JoinedRow, isKnown: boolean): boolean {
  if (status === 'invalid') return isKnown;
  return isAnswer(status);
}

function lowOf(ms: number): number {
  return ms >>> 0;
}

function highOf(ms: number): number {
  return Math.floor(ms / 2 ** 32);
}

const scratch = new Uint32Array(2);

/** A 32-bit hash of a value's text; 0 for the empty text only. */
function hashOfValue(text: string): number {
  if (text === '') return 0;
  hashText(text, 0, scratch, 0);
  return scratch[0] || 1;
}

/**
 * Finds the records of a manifest by the identities of rows, in some 20 bytes of memory each.
 * Records of the same identity are returned one after the other, in their order.
 */
interface RecordTable {
  /** The next record of this identity that was not yet returned; -1 when there is none. */
  take(low: number, high: number): number;
}

/**
 * Values in place of a next record: the record is the last of its identity, the only one, or was
 * already returned.
 */
const LAST = -1;
const ONLY = -2;
const GONE = -3;

/**
 * Creates the table. The order of a list is nearly the same from night to night, so the record
 * after the previous one is tried first. The table is searched only when that one has another
 * identity, or is not the only one of its identity.
 *
 * @param ids the identity of each record, two words each
 */
export function createRecordTable(ids: Uint32Array): RecordTable {
  const count = ids.length / 2;
  const mask = 2 ** Math.ceil(Math.log2(Math.max(2, count * 1.5))) - 1;
  /** The number of the first remaining record of an identity, plus 1; 0 for an empty slot. */
  const slots = new Uint32Array(mask + 1);
  /** For each record, the next one of its identity. */
  const next = new Int32Array(count).fill(ONLY);
  let expected = 0;

  const isAt = (record: number, low: number, high: number): boolean =>
    ids[2 * record] === low && ids[2 * record + 1] === high;

  /** The slot of an identity, or the empty slot for it. */
  function findSlot(low: number, high: number): number {
    let slot = low & mask;
    for (;;) {
      const record = (slots[slot] ?? 0) - 1;
      if (record === -1 || isAt(record, low, high)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  // From last to first, so that the first record of an identity is at the head.
  for (let record = count - 1; record >= 0; record -= 1) {
    const slot = findSlot(ids[2 * record] ?? 0, ids[2 * record + 1] ?? 0);
    const following = (slots[slot] ?? 0) - 1;
    slots[slot] = record + 1;
    if (following === -1) continue;
    next[record] = following;
    if (next[following] === ONLY) next[following] = LAST;
  }

  function takeFromTable(low: number, high: number): number {
    const slot = findSlot(low, high);
    const record = (slots[slot] ?? 0) - 1;
    if (record === -1 || next[record] === GONE) return -1;
    const following = next[record] ?? LAST;
    if (following < 0) next[record] = GONE;
    else slots[slot] = following + 1;
    return record;
  }

  return {
    take: (low, high) => {
      let record = expected;
      if (record < count && next[record] === ONLY && isAt(record, low, high)) next[record] = GONE;
      else record = takeFromTable(low, high);
      if (record !== -1) expected = record + 1;
      return record;
    },
  };
}
