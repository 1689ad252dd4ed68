import type { Outcome, OutcomeStatus } from '../calls/outcome.ts';

/**
 * How a row ended. `stale`: this run learned nothing about its domain, and the row has the values
 * of an older answer.
 */
export type RowStatus = OutcomeStatus | 'stale' | 'invalid' | 'skipped';

/** Whether a row has the values of an answer, fetched by this run or before. */
export function hasValues({ status }: { readonly status: RowStatus }): boolean {
  return status === 'found' || status === 'stale';
}

/** What goes into the output. */
export type OutputRow = JoinedRow | PassedRow;

/** A row that is not looked up and stays as it is, such as one of nothing but delimiters. */
export interface PassedRow extends Pick<JoinedRow, 'raw' | 'fields' | 'domain' | 'key'> {
  readonly status: 'passed';
}

/** Whether it is a row of the list that the run is about. */
export function isListed(row: OutputRow): row is JoinedRow {
  return row.status !== 'passed';
}

/** A row of the input with what was learned about it. */
export interface JoinedRow {
  /** The row as it stands in the input, apart from blank cells that were filled. */
  readonly raw: string;
  /** The number of its cells. */
  readonly fields: number;
  /** Its position among the rows, from 1. The header does not count. */
  readonly number: number;
  /** Empty for an `invalid` row. */
  readonly domain: string;
  readonly status: RowStatus;
  /** Why it is not `found`: one of our words, or why the run stopped. */
  readonly reason: string;
  /** What this run learned about its domain, if anything. */
  readonly outcome: Outcome | undefined;
  /**
   * When its outcome was fetched, or the older answer it has; milliseconds since 1970, 0 for none.
   */
  readonly fetchedAtMs: number;
  /** Identifies the row from night to night; empty when only its domain does. */
  readonly key: string;
  /** The place of the API that its status is of. */
  readonly api: number;
  /** Which of several APIs its values are from. */
  readonly source?: string | undefined;
  /** What each of several APIs said that did not find it. */
  readonly sources?: string | undefined;
  /** The domain that its answer names, if that is another than was asked. */
  readonly answeredDomain?: string | undefined;
  /** Values of the enriched columns; all undefined unless it is `found` or `stale`. */
  readonly values: readonly unknown[];
  /** The values that were filled into its own blank cells, if any. */
  readonly fills: readonly unknown[] | undefined;
}
