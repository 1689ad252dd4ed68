import type { JoinedRow, RowStatus } from '../collector/joined-row.ts';
import { shortenTo } from './text.ts';

/** The reasons why rows were not enriched, each once, with a few rows that have it. */
export interface ReasonList {
  add(row: JoinedRow): void;
  /** The reasons of the most rows, the most frequent first. */
  readonly reasons: readonly Reason[];
  /** Rows whose reason is not in `reasons`. */
  readonly otherRows: number;
}

export interface Reason {
  readonly status: RowStatus;
  /** As in the failures file, without the parts that differ from row to row. */
  readonly reason: string;
  readonly httpStatus: number | undefined;
  readonly rows: number;
  readonly examples: readonly ExampleRow[];
}

/** One row that has a reason. */
export interface ExampleRow {
  /** Its place among the rows, from 1; the header does not count. */
  readonly row: number;
  /** Empty for an `invalid` row. */
  readonly domain: string;
  /** The text of the column that the domain is taken from. */
  readonly cell: string;
  /** The beginning of the row as it is in the list. */
  readonly text: string;
}

export interface ReasonListOptions {
  /** Gives the text of the row's cell that the domain is taken from. */
  readonly cellOf: (row: JoinedRow) => string;
  /** Gives the row as it is in the list. */
  readonly textOf: (row: JoinedRow) => string;
  /** How many reasons are reported. @default 40 */
  readonly most?: number;
}

/** How many different reasons are kept apart; each may be what an API wrote about one domain. */
const MOST_KNOWN = 1_000;
const MOST_TOLD = 40;
const MOST_EXAMPLES = 5;
const REASON_LENGTH = 200;
const CELL_LENGTH = 120;
const ROW_LENGTH = 160;
const DOMAIN_LENGTH = 253;

interface KnownReason {
  status: RowStatus;
  reason: string;
  httpStatus: number | undefined;
  rows: number;
  examples: ExampleRow[];
}

export function createReasonList({
  cellOf,
  textOf,
  most = MOST_TOLD,
}: ReasonListOptions): ReasonList {
  const known = new Map<string, KnownReason>();
  let beyond = 0;

  function find({ status, reason, domain, httpStatus }: JoinedRow): KnownReason | undefined {
    const text = withoutParticulars(reason, domain);
    const key = `${status} ${httpStatus} ${text}`;
    const found = known.get(key);
    if (found || known.size >= MOST_KNOWN) return found;
    const first = {
      status,
      reason: shortenTo(text, REASON_LENGTH),
      httpStatus,
      rows: 0,
      examples: [],
    };
    known.set(key, first);
    return first;
  }

  const told = (): readonly KnownReason[] =>
    [...known.values()].sort((one, other) => other.rows - one.rows).slice(0, most);

  return {
    add: (row) => {
      const reason = find(row);
      if (!reason) {
        beyond += 1;
        return;
      }
      reason.rows += 1;
      if (reason.examples.length >= MOST_EXAMPLES) return;
      reason.examples.push({
        row: row.number,
        domain: shortenTo(row.domain, DOMAIN_LENGTH),
        cell: shortenTo(cellOf(row), CELL_LENGTH),
        text: shortenTo(textOf(row), ROW_LENGTH),
      });
    },
    get reasons() {
      return told();
    },
    get otherRows() {
      const all = [...known.values()].reduce((sum, { rows }) => sum + rows, beyond);
      return all - told().reduce((sum, { rows }) => sum + rows, 0);
    },
  };
}

/** Removes what differs from row to row: an API may name the domain or the request in its text. */
function withoutParticulars(reason: string, domain: string): string {
  if (!/[^a-z_0-9]/.test(reason)) return reason; // one of our own words
  const general = domain === '' ? reason : reason.replaceAll(domain, '{domain}');
  return general.replaceAll(IDENTIFIER, '…');
}

/** Long numbers, hexadecimal numbers and UUIDs. */
const IDENTIFIER = /\b(?=[\da-f-]*\d)[\da-f]{6,}(?:-[\da-f]{4,})*\b/gi;
