import { flatColumnsOf } from '../collector/fields/enriched-columns.ts';
import type { Field } from '../collector/fields/fields.ts';
import {
  nameOutputColumns,
  type OutputColumn,
  type OutputColumns,
} from '../collector/output/output-columns.ts';
import type { Outputs } from '../collector/output/outputs.ts';
import {
  createReadyRows,
  describeColumn,
  MOST_FIELDS,
  type ReadyRows,
} from '../collector/ready-rows.ts';
import type { SavedColumn } from '../store/saved-columns.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { OpenedList } from './open.ts';

/** The rows of a run that are written during the first reading. */
export interface ReadyOfRun {
  readonly rows: ReadyRows;
  /** Whether the output has the columns that were expected. */
  isAsExpected(columns: OutputColumns): boolean;
  /** Takes them back, when the output turns out to need other columns. */
  readonly undo: () => Promise<void>;
}

interface BeginOptions {
  readonly store: OutcomeStore;
  readonly outputs: Pick<Outputs, 'begin'>;
  /** Ids of the output from night to night. */
  readonly ids: readonly string[];
}

/**
 * Begins the output before the lookups, if its columns are known already: because the user named
 * them, or because the last output of this list had them. Undefined when they are not, or have
 * pictures, which are fetched after the lookups.
 */
export async function beginReadyRows(
  list: OpenedList,
  { store, outputs, ids }: BeginOptions,
): Promise<ReadyOfRun | undefined> {
  const { job, context, format } = list;
  const { fields, logos, maxColumns } = job.settings;
  const dependsOnMore = [context.mended, logos, job.second].some((part) => part !== undefined);
  const isWide =
    format.isTable && format.sampleRows.some(({ length }) => length > format.columns.length);
  if (dependsOnMore || isWide || !store.hasAnswers()) return undefined;
  const layout = findLayout(store, ids);
  const enriched =
    fields ??
    (layout && flatColumnsOf({ paths: pathsOf(layout), isCut: false }, { maxColumns, layout }));
  if (!enriched || enriched.length > MOST_FIELDS) return undefined;
  const columns = nameColumns(list, { enriched, layout });
  const output = await outputs.begin({ format, columns });
  if (!output) return undefined;
  const paths = new Set(enriched.flatMap(({ path }) => (path ? [JSON.stringify(path)] : [])));
  const rows = createReadyRows({
    output,
    columns,
    enriched,
    store,
    isCovered: (shapeId) =>
      fields !== undefined ||
      store.findShape(shapeId)?.every((path) => paths.has(JSON.stringify(path))) === true,
  });
  return {
    rows,
    isAsExpected: ({ out }) => describe(out) === describe(columns.out),
    undo: output.undo,
  };
}

/** The columns of the last output that was saved under one of its ids. */
export function findLayout(
  store: Pick<OutcomeStore, 'findColumns'>,
  ids: readonly string[],
): readonly SavedColumn[] | undefined {
  return ids.map((id) => store.findColumns(id)).find((columns) => columns !== undefined);
}

interface ColumnsToName {
  readonly enriched: readonly Field[];
  /** Columns after those. @default none */
  readonly further?: readonly OutputColumn[] | undefined;
  /** The columns of the last output. @default none */
  readonly layout?: readonly SavedColumn[] | undefined;
  /** The column of the API that answered, which failures have too. @default none */
  readonly api?: OutputColumn | undefined;
}

/** Names the columns of the outputs of a run. */
export function nameColumns(list: OpenedList, columns: ColumnsToName): OutputColumns {
  const { prefix, changes } = list.job.settings;
  return nameOutputColumns({
    prefix,
    ...columns,
    taken: takenNames(list),
    hasChanges: changes !== undefined,
  });
}

/** Names of the list's own columns. For a failures file, those of the list it came from. */
function takenNames({ format, ours }: OpenedList): ReadonlySet<string> {
  if (!ours) return format.takenNames;
  return new Set([...format.takenNames].filter((name) => !ours.names.includes(name)));
}

function pathsOf(layout: readonly SavedColumn[]): readonly (readonly string[])[] {
  return layout.flatMap(({ path }) => (path ? [path] : []));
}

function describe(columns: readonly OutputColumn[]): string {
  return JSON.stringify(columns.map(describeColumn));
}
