import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const ENDINGS = ['com', 'de', 'co.uk', 'io', 'fr', 'org'];
const CITIES = ['Lyon', 'Porto', 'Graz', 'Leeds', 'Turku', 'Ghent', 'Split'];
const OWNERS = ['Ana Silva', 'Jonas Weber', 'Mei Tanaka', '"Brown, Amy"'];
const NOTES = ['', 'met at the fair', '"asked for an offer, twice"', 'call back in spring'];
const ROWS_PER_WRITE = 5_000;

/** The domain of the row at a position of the list; no two rows share one. */
export function domainOf(at: number): string {
  return `maker-${at.toString(36)}-works.${pick(ENDINGS, at)}`;
}

const COLUMNS = ['id', 'company', 'website', 'city', 'owner', 'employees', 'created_at', 'notes'];

/**
 * Writes a list as a CRM exports it: eight columns, some cells quoted, some empty. A path that ends
 * in `.jsonl` gets the same as lines of JSON.
 *
 * @param domain gives the domain of each row
 */
export async function writeList(
  path: string,
  rows: number,
  domain: (at: number) => string = domainOf,
): Promise<void> {
  const file = createWriteStream(path);
  const isJson = path.endsWith('.jsonl');
  if (!isJson) file.write(`${COLUMNS.join(',')}\n`);
  for (let at = 0; at < rows; at += ROWS_PER_WRITE) {
    const length = Math.min(ROWS_PER_WRITE, rows - at);
    const text = Array.from({ length }, (_, more) => {
      const cells = cellsOf(at + more, domain);
      return isJson ? jsonOf(cells) : `${cells.join(',')}\n`;
    }).join('');
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

function cellsOf(at: number, domain: (at: number) => string): readonly (string | number)[] {
  const day = String(1 + (at % 28)).padStart(2, '0');
  return [
    `0015g00000${at.toString(36).padStart(8, '0')}`,
    `Maker ${at} Works`,
    domain(at),
    pick(CITIES, at),
    pick(OWNERS, at),
    at % 5 === 0 ? '' : (at * 7) % 4_000,
    `2024-03-${day}T09:30:00Z`,
    pick(NOTES, at),
  ];
}

function jsonOf(cells: readonly (string | number)[]): string {
  const members = COLUMNS.map((name, at) => [name, unquoted(cells[at] ?? '')]);
  return `${JSON.stringify(Object.fromEntries(members))}\n`;
}

function unquoted(cell: string | number): string | number {
  return typeof cell === 'string' ? cell.replaceAll('"', '') : cell;
}

function pick(list: readonly string[], at: number): string {
  return list[at % list.length] ?? '';
}
