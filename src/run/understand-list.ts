import { type OpenEarlierOutput, openEarlierOutput } from '../collector/merge/earlier-output.ts';
import {
  type FailureColumns,
  findFailureColumns,
  readFailureColumns,
} from '../collector/merge/failure-columns.ts';
import type { Closer } from '../common/closer.ts';
import { BrandfillError } from '../common/errors.ts';
import type { Settings } from '../job/settings.ts';
import { chooseDomainColumn, chooseDomainColumnOfFailures } from '../producer/choose-column.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';

interface ListToUnderstand {
  readonly source: Source;
  readonly format: RowFormat;
  readonly settings: Settings;
  readonly closer: Closer;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/** A list with the column of its domains. */
interface UnderstoodList {
  readonly column: DomainColumn;
  /** The columns that Brandfill added, and the output it is merged into, if it is to be merged. */
  readonly merging:
    | { readonly ours: FailureColumns; readonly earlier: OpenEarlierOutput }
    | undefined;
}

/**
 * Finds the column of the domains. For a list that is to be merged, this also opens the earlier
 * output, which shows more of the list than the few rows that are left.
 *
 * @throws BrandfillError `INVALID_SETTING`, `UNREADABLE_INPUT`
 */
export async function understandList(list: ListToUnderstand): Promise<UnderstoodList> {
  const { source, format, settings } = list;
  const { merge, prefix, domainColumn: named } = settings;
  if (merge !== undefined) return await understandMerge(list, merge);
  const ours = named === undefined ? findFailureColumns(format, prefix) : undefined;
  const column = ours
    ? columnOfFailures(source, ours, undefined)
    : chooseDomainColumn(source, format, named);
  return { column, merging: undefined };
}

async function understandMerge(list: ListToUnderstand, merge: string): Promise<UnderstoodList> {
  const { source, format, settings, closer, spoolFolder, signal } = list;
  if (source.workbook) refuseWorkbook(source.name);
  const ours = readFailureColumns({ name: source.name, format }, settings.prefix);
  const failures = { source, format };
  const options = { failures, columns: ours, settings, spoolFolder, signal };
  const earlier = closer.add(await openEarlierOutput(merge, options));
  if (earlier.source.workbook) refuseWorkbook(earlier.source.name);
  const isNamed = settings.domainColumn !== undefined && ours.own.sampleRows.length > 0;
  const column = isNamed
    ? chooseDomainColumn(source, ours.own, settings.domainColumn)
    : columnOfFailures(source, ours, earlier);
  return { column, merging: { ours, earlier } };
}

function refuseWorkbook(name: string): never {
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot merge ${name}: it is a workbook; enrich the whole list again instead, which asks only for what is not known yet.`,
  );
}

function columnOfFailures(
  source: Source,
  { own, domain }: FailureColumns,
  earlier: OpenEarlierOutput | undefined,
): DomainColumn {
  // Without rows nothing is looked up, so any column will do.
  if (own.sampleRows.length === 0) return { ...domain, by: 'option', example: undefined };
  return chooseDomainColumnOfFailures(source, own, earlier?.own);
}
