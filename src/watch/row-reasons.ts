import { sentenceOn, wordsOf } from '../brand/network-error.ts';
import { hasValues, type JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumns } from '../collector/output/output-columns.ts';
import { shortenTo } from '../common/text.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { RunReason, RunView } from './run-view.ts';
import { findReason, inWords, type Naming, type StatusName } from './words.ts';

/** Records rows as they pass: why they were not enriched, and how full the new columns are. */
export interface RowRecorder {
  take(rows: readonly JoinedRow[]): void;
  read(): Pick<RunView, 'reasons' | 'otherReasonRows' | 'columns'>;
}

/** The facts about rows that the record needs. */
export interface RowLayout {
  readonly columns: Pick<OutputColumns, 'enriched'>;
  readonly format: Pick<RowFormat, 'kind' | 'toObject' | 'textsOf'>;
  /** The column that the domain is taken from. */
  readonly column: RowColumn;
}

/** How many different reasons are kept apart; each may be what an API wrote about one domain. */
const MOST_KNOWN = 1_000;
const MOST_REPORTED = 40;
const MOST_EXAMPLES = 5;
const MOST_COLUMNS = 500;
const LENGTHS = { reason: 200, cell: 120, name: 200 } as const;

export function createRowRecorder(layout: RowLayout, naming: Naming): RowRecorder {
  const { enriched } = layout.columns;
  const filled = new Float64Array(enriched.length);
  const known = new Map<string, RunReason>();
  let beyond = 0;

  function addReason(row: JoinedRow): void {
    const { status, domain, httpStatus } = row;
    const text = withoutParticulars(row.reason, domain);
    const key = `${status} ${httpStatus} ${text}`;
    const words = findReason(text)?.short ?? wordsOf(text)?.what;
    const found = known.get(key);
    if (!found && known.size >= MOST_KNOWN) {
      beyond += 1;
      return;
    }
    const reason: RunReason = found ?? {
      status,
      reason: shortenTo(text, LENGTHS.reason),
      ...(words !== undefined && { words }),
      ...(httpStatus === undefined ? {} : { httpStatus }),
      rows: 0,
      advice: inWords(adviseOn(status, text, httpStatus), naming),
      examples: [],
    };
    known.set(key, reason);
    reason.rows += 1;
    if (reason.examples.length >= MOST_EXAMPLES) return;
    reason.examples.push({
      domain,
      cell: shortenTo(cellOf(row, layout), LENGTHS.cell),
    });
  }

  return {
    take: (rows) => {
      for (const row of rows) {
        if (row.status !== 'found') addReason(row);
        if (!hasValues(row)) continue;
        for (let at = 0; at < enriched.length; at += 1) {
          const value = enriched[at]?.valueOf(row);
          if (value !== undefined && value !== null && value !== '')
            filled[at] = (filled[at] ?? 0) + 1;
        }
      }
    },
    read: () => {
      const all = [...known.values()].sort((one, other) => other.rows - one.rows);
      const rest = all.slice(MOST_REPORTED);
      return {
        reasons: all.slice(0, MOST_REPORTED),
        otherReasonRows: rest.reduce((sum, { rows }) => sum + rows, beyond),
        columns: enriched.slice(0, MOST_COLUMNS).map(({ name }, at) => ({
          name: shortenTo(name, LENGTHS.name),
          rows: filled[at] ?? 0,
        })),
      };
    },
  };
}

/** Columns of a table may share a name, so a cell is found by its place. */
function cellOf({ raw }: JoinedRow, { format, column }: RowLayout): string {
  if (format.textsOf) return format.textsOf(raw)[column.index] ?? '';
  const cell = format.toObject(raw)[column.name];
  return typeof cell === 'string' ? cell : cell === undefined ? '' : JSON.stringify(cell);
}

/** Removes what differs from row to row: an API may name the domain or the request in its text. */
function withoutParticulars(reason: string, domain: string): string {
  if (!/[^a-z_0-9]/.test(reason)) return reason; // one of our own words
  const general = domain === '' ? reason : reason.replaceAll(domain, '{domain}');
  return general.replaceAll(IDENTIFIER, '…');
}

/** Long numbers, hexadecimal numbers and UUIDs. */
const IDENTIFIER = /\b(?=[\da-f-]*\d)[\da-f]{6,}(?:-[\da-f]{4,})*\b/gi;

/** Explains the reason of a row, and what to do about it, in a sentence or two. */
export function adviseOn(
  status: Exclude<StatusName, 'fresh'>,
  reason: string,
  httpStatus: number | undefined,
): string {
  if (status === 'stale') {
    return `${adviseOn('failed', reason, httpStatus)} These rows keep an older answer.`;
  }
  const advice = findReason(reason)?.advice ?? OF_STATUS[status];
  if (advice !== undefined) return advice;
  const fault = httpStatus !== undefined && httpStatus >= 500;
  const unknown = fault ? 'The API had a fault of its own each time.' : 'No usable answer came.';
  return `${sentenceOn(reason) ?? unknown} The next run tries again.`;
}

const OF_STATUS: Readonly<Partial<Record<StatusName, string>>> = {
  not_found: 'The API does not know these domains. They are asked again after {freshNotFound}.',
  rejected: 'The API refused these domains, with these words.',
  pending: 'The API had no answer ready in time. The next run asks again at once.',
  invalid: 'There is no domain in the cell. Correct it in the list, or leave it.',
  skipped: 'Not asked, because the run stopped first. {again}{toGoOn}.',
};
