import type { FileHandle } from 'node:fs/promises';
import type { RowStatus } from '../collector/joined-row.ts';
import { COLUMNS_BEFORE_ANSWER } from '../collector/output/output-columns.ts';
import { createCloser } from '../common/lifetime.ts';
import { textOfCell } from '../rows/csv/csv-writer.ts';
import { openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { openSpool, writeAll } from '../rows/spool.ts';
import { createStatusCounts } from '../watch/summary.ts';
import type { PreviewColumn, ResultRow, RowsPage } from '../web/app/contract.ts';
import { wordsOfStatus } from './words.ts';

// A result is read once for the status and the place of each row, a few bytes of memory for each, and its
// rows go as they are into a file without a name: any page of it is then there at once, whatever its format.
// Only the cells of the rows of a page are read.

/** The rows of a result, page by page. */
export interface ResultTable {
  page(request: PageRequest): Promise<RowsPage>;
  close(): Promise<void>;
}

export interface PageRequest {
  /** @default all rows */
  readonly status: RowStatus | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface ResultFiles {
  readonly result: string;
  /** The file with the reasons of rows that were not found; undefined when there is none. */
  readonly failures: string | undefined;
  /** The sheet of the list, in a workbook. */
  readonly sheet: string | undefined;
  /** The list's own columns. */
  readonly own: readonly string[];
  /** Those of them whose blank cells were filled. */
  readonly filled: readonly string[];
  /** The index of the column with the addresses. */
  readonly domainColumn: number;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

const STATUSES = Object.keys(createStatusCounts()) as readonly RowStatus[];
const WRITE_BYTES = 256 * 1024;
const LONGEST_CELL = 500;

/** @throws BrandfillError when a file cannot be read any more */
export async function openResultTable(files: ResultFiles): Promise<ResultTable> {
  const { result, own, filled, domainColumn, spoolFolder, signal } = files;
  const closer = createCloser();
  try {
    const reasons = await readReasons(files);
    const source = closer.add(await openList(result, { spoolFolder, signal, sheet: files.sheet }));
    const format = openRows(source, { prefix: 'brand_' });
    const columns = columnsOf(format, own, filled);
    const status = { index: own.length + STATUS_AT, name: 'brand_status' };
    const spool = closer.add(await openSpool(spoolFolder));
    const rows = await spoolRows(spool, { source, format, status, spoolFolder });
    const textsOf = textsIn(format, columns);
    return {
      page: async ({ status: wanted, offset, limit }) => {
        const numbers = rows.select(wanted, offset, limit);
        const found: ResultRow[] = [];
        for (const number of numbers.rows) {
          const cells = textsOf(await rows.read(number)).map((text) => text.slice(0, LONGEST_CELL));
          const of = STATUSES[rows.statusOf(number)] ?? 'skipped';
          const row = number + 1;
          const message = wordsOfStatus(of, reasons.get(row) ?? '');
          found.push({ row, status: of, message, cells, canMend: MENDABLE.has(of) });
        }
        return { columns, domainColumn, rows: found, total: numbers.total, offset };
      },
      close: () => closer.close(),
    };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

/** Gives the texts of a row's cells, in the order of the columns. */
function textsIn(
  format: RowFormat,
  columns: readonly PreviewColumn[],
): (raw: string) => readonly string[] {
  const { textsOf } = format;
  return (raw) => {
    if (textsOf) {
      const texts = textsOf(raw);
      return columns.map((_, at) => texts[at] ?? '');
    }
    const row = format.toObject(raw);
    return columns.map(({ name }) => textOfCell(Object.hasOwn(row, name) ? row[name] : ''));
  };
}

/** Where the status is among the columns that were added. */
const STATUS_AT = 1;

const MENDABLE: ReadonlySet<RowStatus> = new Set(['invalid', 'not_found', 'rejected', 'failed']);

/** The list's own columns, then those that were added. */
function columnsOf(
  { columns, isTable }: RowFormat,
  own: readonly string[],
  filled: readonly string[],
): readonly PreviewColumn[] {
  const isOurs = new Set(own);
  const added = isTable
    ? columns.slice(own.length)
    : columns.filter((name) => !isOurs.has(name)).sort(byBeginning);
  return [
    ...own.map((name) => ({ name, kind: filled.includes(name) ? 'filled' : 'own' }) as const),
    ...added.map(
      (name, at) => ({ name, kind: at < COLUMNS_BEFORE_ANSWER ? 'note' : 'added' }) as const,
    ),
  ];
}

/** Objects may have any member first; the first ones of ours are always in one order. */
function byBeginning(one: string, other: string): number {
  return placeOf(one) - placeOf(other);
}

function placeOf(name: string): number {
  const at = ['domain', 'status', 'fetched_at'].findIndex((first) => name === `brand_${first}`);
  return at === -1 ? COLUMNS_BEFORE_ANSWER : at;
}

interface SpooledRows {
  statusOf(row: number): number;
  select(
    status: RowStatus | undefined,
    offset: number,
    limit: number,
  ): { readonly rows: readonly number[]; readonly total: number };
  /** The row as it is in the list. */
  read(row: number): Promise<string>;
}

interface SpoolRowsOptions {
  readonly source: Source;
  readonly format: RowFormat;
  readonly status: RowColumn;
  readonly spoolFolder: string;
}

async function spoolRows(
  spool: FileHandle,
  { source, format, status, spoolFolder }: SpoolRowsOptions,
): Promise<SpooledRows> {
  let statuses = new Uint8Array(1_024);
  let ends = new Float64Array(1_024);
  let count = 0;
  let written = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    await writeAll(spool, Buffer.concat(pending), spoolFolder);
    pending = [];
    pendingBytes = 0;
  };
  for await (const batch of format.scan(source, status, [status])) {
    const own: Buffer[] = [];
    for (const { fields, isBlank, bytes, start, sizeBytes, others: [text = ''] = [] } of batch) {
      if (fields === 0 || isBlank) continue;
      if (count === statuses.length) {
        statuses = grown(statuses, new Uint8Array(2 * count));
        ends = grown(ends, new Float64Array(2 * count));
      }
      statuses[count] = Math.max(0, STATUSES.indexOf(text as RowStatus));
      written += sizeBytes;
      ends[count] = written;
      own.push(bytes.subarray(start, start + sizeBytes));
      pendingBytes += sizeBytes;
      count += 1;
    }
    pending.push(Buffer.concat(own)); // the bytes are good until the next batch
    if (pendingBytes >= WRITE_BYTES) await flush();
  }
  await flush();
  return {
    statusOf: (row) => statuses[row] ?? 0,
    select: (wanted, offset, limit) => {
      if (wanted === undefined) {
        const length = Math.max(0, Math.min(limit, count - offset));
        return { total: count, rows: Array.from({ length }, (_, at) => offset + at) };
      }
      const code = STATUSES.indexOf(wanted);
      const rows: number[] = [];
      let total = 0;
      for (let row = 0; row < count; row += 1) {
        if (statuses[row] !== code) continue;
        if (total >= offset && rows.length < limit) rows.push(row);
        total += 1;
      }
      return { rows, total };
    },
    read: async (row) => {
      const start = row === 0 ? 0 : (ends[row - 1] ?? 0);
      const line = Buffer.alloc((ends[row] ?? start) - start);
      await spool.read(line, 0, line.length, start);
      return line.toString('utf8');
    },
  };
}

function grown<T extends Uint8Array | Float64Array>(from: T, into: T): T {
  into.set(from);
  return into;
}

/** Reasons by row, for those that have one; of more rows than anybody reads, the first. */
const MOST_REASONS = 200_000;

async function readReasons({
  failures,
  spoolFolder,
  signal,
}: ResultFiles): Promise<ReadonlyMap<number, string>> {
  const reasons = new Map<number, string>();
  if (failures === undefined) return reasons;
  const source = await openList(failures, { spoolFolder, signal });
  try {
    const format = openRows(source, { prefix: 'brand_' });
    const find = (name: string): RowColumn => {
      const index = format.columns.findLastIndex((column) => column === name);
      return { index, name };
    };
    const [row, reason] = [find('brand_row'), find('brand_reason')];
    for await (const batch of format.scan(source, row, [row, reason])) {
      for (const { others: [number = '', why = ''] = [] } of batch) {
        reasons.set(Number(number), why);
      }
      if (reasons.size >= MOST_REASONS) break;
    }
    return reasons;
  } finally {
    await source.close();
  }
}
