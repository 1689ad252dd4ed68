import { findJsonObject } from '../brand/json-object.ts';
import type { Outcome } from '../brand/outcome.ts';
import type { IndexedRow, RowIndex } from '../producer/row-index.ts';
import type { Source } from '../rows/source.ts';
import type { OutcomeStore } from '../store/store.ts';
import { cutRows } from './cut-rows.ts';
import type { Field } from './fields/fields.ts';
import type { Fill } from './fill.ts';
import type { JoinedRow } from './joined-row.ts';
import { readNote } from './row-note.ts';

export interface JoinOptions {
  readonly source: Source;
  /** How many bytes of the source precede the first row. */
  readonly headBytes: number;
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  readonly enriched: readonly Field[];
  /** Fills blank cells of the list's own columns. */
  readonly fill?: Fill | undefined;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (outcome: Outcome) => boolean;
  /** Why rows without an outcome were not asked. */
  readonly skipReason: string;
}

/** Reads the input again, in its own order, and joins each row with its outcome. */
export function join(options: JoinOptions): AsyncGenerator<readonly JoinedRow[]> {
  const { source, headBytes, index, store, enriched, fill, isUsable, skipReason } = options;
  const nothing = enriched.map(() => undefined);
  let number = 0;

  // Objects are written out in full: a spread with more members added costs several times as much.
  function unasked(
    { fields, note }: IndexedRow,
    raw: string,
    { domain, status, reason }: Pick<JoinedRow, 'domain' | 'status' | 'reason'>,
  ): JoinedRow {
    const httpStatus = undefined;
    const { key, blanks } = readNote(note);
    return {
      raw,
      fields,
      number,
      domain,
      status,
      reason,
      httpStatus,
      attempts: 0,
      fetchedAtMs: 0,
      key,
      values: nothing,
      blanks,
      fills: undefined,
    };
  }

  function joinRow(row: IndexedRow, raw: string): JoinedRow {
    number += 1;
    const { fields, text } = row;
    if (row.kind === 'invalid') {
      return unasked(row, raw, { domain: '', status: 'invalid', reason: text });
    }
    const outcome = store.find(text);
    if (!outcome || !isUsable(outcome)) {
      return unasked(row, raw, { domain: text, status: 'skipped', reason: skipReason });
    }
    const { domain, status, reason, httpStatus, attempts, fetchedAtMs } = outcome;
    const { key, blanks } = readNote(row.note);
    const answer = status === 'found' ? findJsonObject(outcome.json) : undefined;
    const values = answer ? enriched.map((field) => field.valueOf(answer)) : nothing;
    const own =
      answer && fill && blanks !== 0 ? fill.apply({ raw, fields }, answer, blanks) : undefined;
    return {
      raw: own?.raw ?? raw,
      fields: own?.fields ?? fields,
      number,
      domain,
      status,
      reason,
      httpStatus,
      attempts,
      fetchedAtMs,
      key,
      values,
      blanks,
      fills: own?.fills,
    };
  }

  return cutRows({ source, headBytes, index }, (row, raw) =>
    row.kind === 'blank' ? undefined : joinRow(row, raw),
  );
}
