import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import type { DistinctDomains } from './distinct-domains.ts';
import { createInvalidRows, domainOf, type InvalidRow, placeOf } from './plan.ts';

/** The domains of a list. */
export interface ListedDomains {
  /** Rows in the list. */
  readonly rows: number;
  /** Different domains in them. */
  readonly uniqueDomains: number;
  /** Rows whose domain an earlier row has. */
  readonly duplicateRows: number;
  /** Rows without a domain. */
  readonly invalidRows: number;
  /** Some of these rows. */
  readonly firstInvalid: readonly InvalidRow[];
}

export interface ListDomainsOptions {
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Reads the domain in a cell of that column. */
  readonly readDomain: DomainReader;
  /** Receives the domains of all rows. */
  readonly domains: DistinctDomains;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

const MOST_SHOWN = 5;

/** Reads all rows and gathers their domains. Nothing is sent before the whole list was readable. */
export async function listDomains(options: ListDomainsOptions): Promise<ListedDomains> {
  const { source, format, column, readDomain, domains, signal } = options;
  const invalid = createInvalidRows(MOST_SHOWN);
  let rows = 0;

  for await (const batch of format.scan(source, column)) {
    signal.throwIfAborted();
    const found: string[] = [];
    for (const row of batch) {
      if (row.fields === 0 || row.isBlank) continue; // not a row
      rows += 1;
      const normalized = domainOf(row, readDomain);
      if ('domain' in normalized) found.push(normalized.domain);
      else invalid.add({ ...placeOf(row, rows), reason: normalized.invalid, cell: row.cell });
    }
    await domains.add(found);
  }
  await source.assertUnchanged();
  const uniqueDomains = await domains.settle();
  const { count: invalidRows, examples: firstInvalid } = invalid;
  const duplicateRows = rows - invalidRows - uniqueDomains;
  return { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid };
}

/** Cuts batches of any size into lists of one size. The last list may be shorter. */
export async function* cutIntoLists<T>(
  batches: AsyncIterable<readonly T[]>,
  size: number,
): AsyncGenerator<readonly T[]> {
  let list: T[] = [];
  for await (const batch of batches) {
    for (const item of batch) {
      list.push(item);
      if (list.length < size) continue;
      yield list;
      list = [];
    }
  }
  if (list.length > 0) yield list;
}
