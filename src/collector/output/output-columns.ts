import { DETAILS, isAnswer } from '../../calls/outcome.ts';
import { createNamer } from '../../rows/columns/names.ts';
import type { RowFormat } from '../../rows/row-format.ts';
import type { Field } from '../fields/fields.ts';
import type { JoinedRow } from '../joined-row.ts';

/** A column of an output file that Brandfill adds. */
export interface OutputColumn {
  readonly name: string;
  /** How its value is found. Equal expressions find equal values. */
  readonly expression?: string | undefined;
  /** Whether a row counts as changed when only this column differs. @default true */
  readonly isCompared?: boolean;
  /** Whether it has what no other column has; what that is depends on other rows. @default false */
  readonly isRest?: boolean;
  /** The way to its value in an answer, for a column of the flattened answer. */
  readonly path?: readonly string[] | undefined;
  valueOf(row: JoinedRow): unknown;
}

export interface OutputColumnsOptions {
  readonly prefix: string;
  readonly enriched: readonly Field[];
  /** Columns after those. @default none */
  readonly further?: readonly OutputColumn[] | undefined;
  /** Names of the input's own columns. */
  readonly taken: ReadonlySet<string>;
  /** Whether there is a changes file. @default false */
  readonly hasChanges?: boolean;
  /** Whether several APIs were asked. @default false */
  readonly isSeveral?: boolean;
}

/** The columns that are added to each of the files, and which of them had to be renamed. */
export type OutputColumns = ReturnType<typeof nameOutputColumns>;

/** Names all added columns. A name that the input has already gets a suffix. */
export function nameOutputColumns(options: OutputColumnsOptions) {
  const { prefix, enriched, further = [], taken, hasChanges = false, isSeveral = false } = options;
  const renamed = new Map<string, string>();

  function name(columns: readonly OutputColumn[]): readonly OutputColumn[] {
    const unique = createNamer((name) => taken.has(name));
    return columns.map((column) => {
      const wanted = prefix + column.name;
      const free = unique(wanted);
      if (free !== wanted && taken.has(wanted)) renamed.set(wanted, free);
      return { ...column, name: free };
    });
  }

  const own = [DOMAIN, STATUS, FETCHED_AT, ...(isSeveral ? [SOURCE] : [])];
  const wanted: readonly OutputColumn[] = [
    ...own,
    ...enriched.map(
      ({ name, expression, path, isRest = false }, at): OutputColumn => ({
        name,
        expression,
        path,
        isRest,
        valueOf: (row) => row.values[at],
      }),
    ),
    ...further,
  ];
  const all = name(hasChanges ? [...wanted, ...CHANGE_COLUMNS] : wanted);
  const failures = name(isSeveral ? [...FAILURE_COLUMNS, SOURCES] : FAILURE_COLUMNS);
  return {
    out: all.slice(0, wanted.length),
    /** The columns of `out` with the results. */
    enriched: all.slice(own.length, wanted.length),
    failures,
    /** Names of the columns that only the changes file has, if there is one. */
    changes: all.slice(wanted.length).map((column) => column.name),
    renamed: [...renamed].map(([from, to]) => ({ from, to })),
  };
}

const DOMAIN: OutputColumn = { name: 'domain', expression: 'domain', valueOf: (row) => row.domain };
const STATUS: OutputColumn = { name: 'status', expression: 'status', valueOf: (row) => row.status };
/** Whenever an answer is fetched again, this is another time, which is no news of the brand. */
const FETCHED_AT: OutputColumn = {
  name: 'fetched_at',
  isCompared: false,
  valueOf: ({ status, fetchedAtMs }) =>
    status === 'stale' || isAnswer(status) ? textOfTime(fetchedAtMs) : undefined,
};

/** The same content from another API is no news of the brand either. */
const SOURCE: OutputColumn = {
  name: 'source',
  isCompared: false,
  valueOf: (row) => row.source,
};
const SOURCES: OutputColumn = { name: 'sources', valueOf: (row) => row.sources ?? '' };

/** To the second. Rows beside each other were mostly fetched in the same one. */
function textOfTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1_000);
  if (second !== latest.second) {
    latest = { second, text: new Date(second * 1_000).toISOString().replace('.000', '') };
  }
  return latest.text;
}

let latest = { second: Number.NaN, text: '' };

/** The values of these are found when a row is written. */
const CHANGE_COLUMNS: readonly OutputColumn[] = [
  { name: 'change', valueOf: () => undefined },
  { name: 'changed', valueOf: () => undefined },
];
const FAILURE_COLUMNS: readonly OutputColumn[] = [
  { name: 'row', valueOf: (row) => row.number },
  DOMAIN,
  STATUS,
  ...DETAILS.map(
    ({ name, member, none = null }): OutputColumn => ({
      name,
      // A row that was not looked up has a reason as well.
      valueOf: (row) => (member === 'reason' ? row.reason : (row.outcome?.[member] ?? none)),
    }),
  ),
];

/**
 * A row of the list with the added columns, named as in the output files. A row that was not
 * enriched also has the columns of the failures file, which say why.
 */
export type EnrichedRow = Record<string, unknown>;

export function toEnrichedRow(
  row: JoinedRow,
  format: RowFormat,
  { out, failures }: OutputColumns,
): EnrichedRow {
  const enriched = format.toObject(row.raw);
  for (const column of row.status === 'found' ? out : [...out, ...failures]) {
    const value = column.valueOf(row);
    if (value !== undefined) enriched[column.name] = value;
  }
  return enriched;
}
