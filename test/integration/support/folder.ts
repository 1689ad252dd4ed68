import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { useTempFolder } from '../../support/temp-folder.ts';

/** A folder of its own for a test. */
export type Folder = ReturnType<typeof openFolder>;

/** No other time is written in whole seconds. */
const FETCHED_AT = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** A text in which the times of `brand_fetched_at` are `<time>`. */
export function withoutTimes(text: string): string {
  return text.replaceAll(FETCHED_AT, '<time>');
}

/** Makes a temporary folder that goes away when the test ends. */
export function openFolder(parent?: string) {
  const path = useTempFolder(parent);
  const at = (name: string): string => join(path, name);
  return {
    path,
    at,
    write: (name: string, content: string | Buffer): string => {
      writeFileSync(at(name), content);
      return at(name);
    },
    /**
     * The text of a file. The times of `brand_fetched_at`, which differ from run to run, are
     * `<time>`.
     */
    read: (name: string): string => withoutTimes(readFileSync(at(name), 'utf8')),
    /** Names of all files but the store, sorted. */
    names: (): string[] =>
      readdirSync(path)
        .filter((name) => name !== '.brandfill')
        .sort(),
    /** Whether the store was made in it. */
    hasStore: (): boolean => existsSync(at('.brandfill')),
  };
}

/** A list of two rows. */
export const LIST = 'name,domain\nAcme,acme.com\nBolt,bolt.com\n';

/**
 * Makes a folder with a list in it, `list.csv`.
 *
 * @param content what is in it, or how many domains are
 */
export function openList(content: string | Buffer | number = LIST): Folder {
  const folder = openFolder();
  folder.write('list.csv', typeof content === 'number' ? listOf(domains(content)) : content);
  return folder;
}

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
  const lines = jsonl.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** One column of a table. */
export function column(rows: readonly Record<string, unknown>[], name: string): unknown[] {
  return rows.map((row) => row[name]);
}
