import { untakenName } from '../rows/names.ts';
import type { Field } from './fields.ts';
import type { JoinedRow } from './join.ts';

/** A column of ours in an output file. */
export interface OutputColumn {
  readonly name: string;
  /** How its value is found; the same where it is found in the same way. */
  readonly expression?: string | undefined;
  /** Whether a row of which only this is another one is a row that changed. @default true */
  readonly isCompared?: boolean;
  valueOf(row: JoinedRow): unknown;
}

export interface OutputColumnsOptions {
  readonly prefix: string;
  readonly enriched: readonly Field[];
  /** What stands behind those. @default nothing */
  readonly further?: readonly OutputColumn[] | undefined;
  /** Names of the input's own columns. */
  readonly taken: ReadonlySet<string>;
  /** Whether there is a changes file. @default false */
  readonly hasChanges?: boolean;
}

/** The columns that are added in each of the two files, and which of them had to be renamed. */
export interface OutputColumns {
  readonly out: readonly OutputColumn[];
  readonly failures: readonly OutputColumn[];
  /** Names of what the changes file has besides the columns of `out`, if there is one. */
  readonly changes: readonly string[];
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
}

/** Names all columns of ours. One whose name the input has gets a suffix. */
export function nameOutputColumns(options: OutputColumnsOptions): OutputColumns {
  const { prefix, enriched, further = [], taken, hasChanges = false } = options;
  const renamed = new Map<string, string>();

  function name(columns: readonly OutputColumn[]): readonly OutputColumn[] {
    const used = new Set<string>();
    return columns.map((column) => {
      const wanted = prefix + column.name;
      const free = untakenName(wanted, (candidate) => taken.has(candidate) || used.has(candidate));
      used.add(free);
      if (free !== wanted && taken.has(wanted)) renamed.set(wanted, free);
      return { ...column, name: free };
    });
  }

  const wanted: readonly OutputColumn[] = [
    DOMAIN,
    STATUS,
    ...enriched.map((field, at) => ({
      name: field.name,
      expression: field.expression,
      valueOf: (row: JoinedRow) => row.values[at],
    })),
    ...further,
  ];
  const all = name(hasChanges ? [...wanted, ...CHANGE_COLUMNS] : wanted);
  const failures = name(FAILURE_COLUMNS);
  return {
    out: all.slice(0, wanted.length),
    failures,
    changes: all.slice(wanted.length).map((column) => column.name),
    renamed: [...renamed].map(([from, to]) => ({ from, to })),
  };
}

const DOMAIN: OutputColumn = { name: 'domain', expression: 'domain', valueOf: (row) => row.domain };
const STATUS: OutputColumn = { name: 'status', expression: 'status', valueOf: (row) => row.status };
/** What these say of a row is found when it is written. */
const CHANGE_COLUMNS: readonly OutputColumn[] = [
  { name: 'change', valueOf: () => undefined },
  { name: 'changed', valueOf: () => undefined },
];
const FAILURE_COLUMNS: readonly OutputColumn[] = [
  { name: 'row', valueOf: (row) => row.number },
  DOMAIN,
  STATUS,
  { name: 'reason', valueOf: (row) => row.reason },
  { name: 'http_status', valueOf: (row) => row.httpStatus ?? null },
  { name: 'attempts', valueOf: (row) => row.attempts },
];
