import { hasValues, type JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumns } from '../collector/output/output-columns.ts';
import { sentenceOn } from '../common/reasons.ts';
import { shortenTo } from '../common/text.ts';
import { isFilled, type RowColumn, type RowFormat } from '../rows/row-format.ts';
import type { RunReason, RunView } from './run-view.ts';
import { STATUSES, upperFirst } from './words.ts';

export type RowRecorder = ReturnType<typeof createRowRecorder>;

/** The facts about rows that the record needs. */
export interface RowLayout {
  readonly columns: Pick<OutputColumns, 'enriched'>;
  readonly format: Pick<RowFormat, 'cellOf'>;
  /** The column that the domain is taken from. */
  readonly column: RowColumn;
}

/**
 * How many reasons are kept apart by what an API wrote; then those that are left are one of each
 * kind.
 */
const MOST_KNOWN = 1_000;
const MOST_REPORTED = 40;
const MOST_EXAMPLES = 5;
const MOST_COLUMNS = 500;
const LONGEST = 200;

/** Records rows as they pass: why they were not enriched, and how full the new columns are. */
export function createRowRecorder({ columns: { enriched }, format, column }: RowLayout) {
  /** How many rows have a value, by the place of the column. */
  const filled = new Float64Array(enriched.length);
  const known = new Map<string, RunReason>();

  function addReason({ status, domain, reason, outcome, raw }: JoinedRow): void {
    const { httpStatus, said: given } = outcome ?? {};
    const kind = `${status} ${httpStatus} ${reason}`;
    const text = given && shortenTo(withoutParticulars(given, domain), LONGEST);
    const isKept = known.has(`${kind} ${text}`) || known.size < MOST_KNOWN;
    const said = isKept ? text : undefined;
    const key = `${kind} ${said}`;
    const advice = adviseOn({ status, reason, httpStatus });
    const begun = { status, reason, said, httpStatus, rows: 0, advice, examples: [] };
    const of: RunReason = known.get(key) ?? begun;
    known.set(key, of);
    of.rows += 1;
    if (of.examples.length >= MOST_EXAMPLES) return;
    of.examples.push({ domain, cell: shortenTo(format.cellOf(raw, column), LONGEST) });
  }

  return {
    filled,
    take: (rows: readonly JoinedRow[]): void => {
      for (const row of rows) {
        if (row.status !== 'found') addReason(row);
        if (!hasValues(row)) continue;
        enriched.forEach((column, at) => {
          if (isFilled(column.valueOf(row))) filled[at] = (filled[at] ?? 0) + 1;
        });
      }
    },
    read: (): Pick<RunView, 'reasons' | 'columns'> => ({
      reasons: [...known.values()]
        .sort((one, other) => other.rows - one.rows)
        .slice(0, MOST_REPORTED),
      columns: enriched.slice(0, MOST_COLUMNS).map(({ name }, at) => ({
        name: shortenTo(name, LONGEST),
        rows: filled[at] ?? 0,
      })),
    }),
  };
}

/** Removes what differs from row to row: an API may name the domain or the request in its text. */
function withoutParticulars(said: string, domain: string): string {
  return said
    .replaceAll(domain, '{domain}')
    .replaceAll(IDENTIFIER, (word) => (/\d/.test(word) ? '…' : word));
}

/** Long numbers, hexadecimal numbers and UUIDs, where they have a digit. */
const IDENTIFIER = /\b[\da-f]{6,}(?:-[\da-f]{4,})*\b/gi;

/** What the outcome of a row means, and what to do about it, in a sentence or two. */
export function adviseOn({
  status,
  reason,
  httpStatus = 0,
}: Pick<RunReason, 'status' | 'reason' | 'httpStatus'>): string {
  if (status === 'pending') return 'The API is still finding out: the next run asks again.';
  const means = sentenceOn(reason);
  if (status !== 'failed' && status !== 'stale') {
    return means ?? upperFirst(`${STATUSES[status].means}.`);
  }
  const unknown =
    httpStatus >= 500 ? 'The API had a fault of its own each time.' : 'No usable answer came.';
  const kept = status === 'stale' ? ' These rows keep an older answer.' : '';
  return `${means ?? unknown} The next run tries again.${kept}`;
}
