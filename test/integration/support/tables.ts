import { parse } from 'csv-parse/sync';

/** Different domains, one for each number. */
export function domains(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `company-${at}.com`);
}

/** A list with one column, `domain`. */
export function listOf(domains: readonly string[]): string {
  return `domain\n${domains.join('\n')}\n`;
}

/** The rows of a CSV file as objects. */
export function rowsOf(csv: string, delimiter = ','): Record<string, string>[] {
  return parse(csv, { columns: true, bom: true, delimiter });
}

/** The rows of a CSV file as lists of cells, header first. */
export function cellsOf(csv: string, delimiter = ','): string[][] {
  return parse(csv, { bom: true, delimiter, relax_column_count: true });
}

/** The objects of a JSONL file. */
export function objectsOf(jsonl: string): Record<string, unknown>[] {
  return jsonl
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** One column of a table. */
export function column(rows: readonly Record<string, unknown>[], name: string): unknown[] {
  return rows.map((row) => row[name]);
}
