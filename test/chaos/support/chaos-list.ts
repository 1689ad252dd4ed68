import type { SeededRandom } from '../../support/random.ts';

/** A list, and what an enriched one has to be, worked out without any of our code. */
export interface ChaosList {
  readonly text: string;
  /** Each of them once. */
  readonly domains: readonly string[];
  /** The files of a run that nobody disturbed. */
  readonly expected: { readonly out: string; readonly failures: string };
}

const COLUMNS = 'id,note,domain';
const ENRICHED = `${COLUMNS},brand_domain,brand_status,brand_fetched_at,brand_name,brand_size,brand_text`;
const FAILED = `${COLUMNS},brand_row,brand_domain,brand_status,brand_reason,brand_said,brand_http_status,brand_attempts`;

/** Each domain once, some again, some rows without one. */
export function makeList(rows: number, count: number, random: SeededRandom): ChaosList {
  const domains = Array.from({ length: count }, (_, at) => `company-${at}.com`);
  const text = [COLUMNS];
  const out = [ENRICHED];
  const failures = [FAILED];
  for (let at = 0; at < rows; at += 1) {
    if (at % 50 === 49) {
      const row = `${at},"row ${at}, ""quoted""",n/a`;
      text.push(row);
      out.push(`${row},,invalid,,,,`);
      failures.push(`${row},${at + 1},,invalid,empty,,,0`);
      continue;
    }
    const domain = domains[at] ?? random.pick(domains) ?? '';
    const row = `${at},row ${at},${domain}`;
    const { status = 200, name = '', size = '' } = knownOf(domain);
    text.push(row);
    if (status === 200) out.push(`${row},${domain},found,<time>,${name},${size},'=1+1`);
    if (status === 404) {
      out.push(`${row},${domain},not_found,<time>,,,`);
      failures.push(`${row},${at + 1},${domain},not_found,http_404,,404,1`);
    }
    if (status === 400) {
      out.push(`${row},${domain},rejected,<time>,,,`);
      failures.push(`${row},${at + 1},${domain},rejected,http_400,No ${domain},400,1`);
    }
  }
  const join = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
  return { text: join(text), domains, expected: { out: join(out), failures: join(failures) } };
}

/** The same answer for a domain at each call, whatever happened before. */
export function respond(domain: string): { status?: number; body?: unknown } {
  const { status, name, size } = knownOf(domain);
  if (status === 404) return { status };
  if (status === 400) return { status, body: `No ${domain}` };
  return { body: { name, size, text: '=1+1' } };
}

interface Known {
  readonly status?: 400 | 404;
  readonly name?: string;
  readonly size?: number;
}

function knownOf(domain: string): Known {
  const number = Number(/\d+/.exec(domain)?.[0]);
  if (number % 11 === 3) return { status: 404 };
  if (number % 17 === 5) return { status: 400 };
  return { name: `Company ${number}`, size: number };
}
