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

/**
 * Writes a list as a CRM exports it: eight columns, some cells quoted, some empty.
 *
 * @param domain gives the domain of each row
 */
export async function writeList(
  path: string,
  rows: number,
  domain: (at: number) => string = domainOf,
): Promise<void> {
  const file = createWriteStream(path);
  file.write('id,company,website,city,owner,employees,created_at,notes\n');
  for (let at = 0; at < rows; at += ROWS_PER_WRITE) {
    const length = Math.min(ROWS_PER_WRITE, rows - at);
    const text = Array.from({ length }, (_, more) => rowOf(at + more, domain)).join('');
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

function rowOf(at: number, domain: (at: number) => string): string {
  const day = String(1 + (at % 28)).padStart(2, '0');
  const cells = [
    `0015g00000${at.toString(36).padStart(8, '0')}`,
    `Maker ${at} Works`,
    domain(at),
    pick(CITIES, at),
    pick(OWNERS, at),
    at % 5 === 0 ? '' : (at * 7) % 4_000,
    `2024-03-${day}T09:30:00Z`,
    pick(NOTES, at),
  ];
  return `${cells.join(',')}\n`;
}

function pick(list: readonly string[], at: number): string {
  return list[at % list.length] ?? '';
}
