import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/redis.ts';
import { openServer } from './support/api.ts';
import { type Ended, runHere, summaryOf } from './support/command.ts';
import { column, type Folder, listOf, openList, rowsOf } from './support/folder.ts';

const DOMAINS: readonly string[] = Array.from({ length: 52 }, (_, at) => `d${at}.com`);

/** What an API of a test says of several domains: a status, and a body unless it knows none. */
type Say = (domain: string) => { readonly status?: number; readonly brand?: object } | undefined;

interface Behaviour {
  readonly say: Say;
  /** What each reply says that it cost. */
  readonly cost?: string;
  /** Answers a call otherwise. */
  readonly refuse?: (domains: readonly string[]) => number | undefined;
}

interface Asked {
  readonly method: string | undefined;
  readonly url: string;
  readonly domains: readonly string[];
}

/** An API that takes `POST /batch` with the domains in `domains`, and `GET /one?domain=…`. */
async function openApi({ say, refuse, cost }: Behaviour) {
  const asked: Asked[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const url = new URL(request.url ?? '', 'http://x');
    const one = url.searchParams.get('domain');
    const domains = one === null ? (JSON.parse(body) as { domains: string[] }).domains : [one];
    asked.push({ method: request.method, url: url.pathname, domains });
    const status = refuse?.(domains);
    response.setHeader('content-type', 'application/json');
    if (cost !== undefined) response.setHeader('x-cost', cost);
    if (status !== undefined) return void response.writeHead(status).end('{"error":"no"}');
    if (one !== null) {
      const said = say(one);
      response.statusCode = said?.status ?? (said ? 200 : 404);
      return void response.end(JSON.stringify(said?.brand ?? {}));
    }
    const results = domains.flatMap((domain) => {
      const said = say(domain);
      return said ? [{ domain: domain.toUpperCase(), ...said }] : [];
    });
    response.end(JSON.stringify({ results }));
  }
  const { url } = await openServer((request, response) => void answer(request, response));
  return { url, asked };
}

function openProfile(url: string, size = 20): Folder {
  const folder = openList(listOf(DOMAINS));
  folder.write(
    'acme.yaml',
    `
title: Acme
request: { baseUrl: "${url}", path: '/one?domain={domain}' }
batch:
  path: /batch
  body: { domains: '{domains}' }
  size: ${size}
  records: results
  domain: domain
  status: status
  answer: brand
`,
  );
  return folder;
}

async function enrichHere(folder: Folder, flags: readonly string[] = []): Promise<Ended> {
  const args = ['enrich', 'list.csv', '--api', 'acme.yaml', '--json'];
  return await runHere([...args, ...flags], { cwd: folder.path });
}

const everyOne: Say = (domain) => ({ brand: { name: domain.slice(0, -4) } });
const isFound = (row: Record<string, string>): boolean => row['brand_status'] === 'found';
const callsAbout = (asked: readonly Asked[], domain: string): readonly Asked[] =>
  asked.filter(({ domains }) => domains.includes(domain));

describe('a batch', () => {
  it('asks about many domains in one call, and each row gets the answer about its own', async () => {
    const { url, asked } = await openApi({ say: everyOne });
    const folder = openProfile(url);
    const ended = await enrichHere(folder);
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 52 }, calls: asked.length });
    // Those of the first calls wait for a first answer; full calls take over then.
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(Math.max(...asked.map(({ domains }) => domains.length))).toBe(20);
    expect(asked[0]).toMatchObject({ method: 'POST', url: '/batch' });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'brand_name')).toEqual(DOMAINS.map((domain) => domain.slice(0, -4)));
    for (const domain of DOMAINS) expect(callsAbout(asked, domain)).toHaveLength(1);
  });

  it('keeps a verdict on one domain from the others, whatever it is', async () => {
    const bad = [404, 422, 202, 500].map((status) => ({ status }));
    const say = (domain: string) => bad[DOMAINS.indexOf(domain)] ?? everyOne(domain);
    const { url, asked } = await openApi({ say });
    const ended = await enrichHere(openProfile(url), ['--retries', '1', '--max-wait', '1s']);
    const statuses = { found: 48, not_found: 1, rejected: 1, pending: 1, failed: 1 };
    expect(summaryOf(ended)).toMatchObject({ statuses });
    expect(callsAbout(asked, 'd37.com')).toHaveLength(1);
  });

  it('goes in halves when it is refused as a whole, down to the domain that is to blame', async () => {
    const refuse = (names: readonly string[]) => (names.includes('d30.com') ? 422 : undefined);
    const { url, asked } = await openApi({ say: everyOne, refuse });
    const ended = await enrichHere(openProfile(url));
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 51, rejected: 1 } });
    // Two calls of 20, then halves.
    expect(callsAbout(asked, 'd30.com').length).toBeLessThanOrEqual(9);
    expect(callsAbout(asked, 'd30.com').at(-1)).toMatchObject({ method: 'GET', url: '/one' });
    expect(asked.length).toBeLessThanOrEqual(20);
  });

  it('counts a call that a limit refuses once, whatever its status: none goes in halves for it', async () => {
    let tokens = 4;
    const filling = setInterval(() => (tokens = Math.min(4, tokens + 1)), 100);
    const { url, asked } = await openApi({
      say: everyOne,
      refuse: () => {
        if (tokens < 1) return 400;
        tokens -= 1;
        return undefined;
      },
    });
    const folder = openProfile(url);
    folder.write('list.csv', listOf(Array.from({ length: 600 }, (_, at) => `d${at}.com`)));
    const ended = await enrichHere(folder);
    clearInterval(filling);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 600, rejected: 0, failed: 0 } });
    // If each refusal made halves, they would be hundreds. How many are refused depends on the
    // machine.
    expect(asked.filter(({ domains }) => domains.length < 20).length).toBeLessThan(150);
    expect(asked.length).toBeLessThan(12 * 30);
  });

  it('asks about a domain alone that a reply is silent about', async () => {
    const { url, asked } = await openApi({
      say: (domain) => (domain === 'd5.com' ? undefined : everyOne(domain)),
    });
    const ended = await enrichHere(openProfile(url));
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 51, not_found: 1 } });
    expect(callsAbout(asked, 'd5.com').map(({ url: path }) => path)).toEqual(['/batch', '/one']);
  });

  it('spends one call of a budget, and leaves the rest to the next run', async () => {
    const { url, asked } = await openApi({ say: everyOne });
    const folder = openProfile(url);
    const first = await enrichHere(folder, ['--max-calls', '2']);
    expect(asked).toHaveLength(2);
    expect(first.code).not.toBe(0);
    const ended = await enrichHere(folder);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 52 } });
    for (const domain of DOMAINS) expect(callsAbout(asked, domain)).toHaveLength(1);
  });

  it('may be a GET with the domains in a parameter, beside those of every call', async () => {
    const urls: string[] = [];
    const { url } = await openServer(({ url: asked = '' }, response) => {
      urls.push(asked);
      const query = new URL(asked, 'http://x').searchParams;
      const brands = (query.get('sites') ?? '').split(',').map((name) => ({ name }));
      response.end(JSON.stringify(query.has('sites') ? brands : { name: query.get('domain') }));
    });
    const folder = openProfile(url);
    const batch = "batch: { method: GET, path: '/all?sites={domains}&full=1', size: 40 }";
    folder.write('acme.yaml', `title: Acme\nrequest: { baseUrl: "${url}" }\n${batch}\n`);
    await enrichHere(folder, ['--param', 'team=crm']);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_name')).toEqual(DOMAINS);
    expect(urls.join('\n')).toMatch(/^\/all\?sites=d\d+\.com,d.*&full=1&team=crm$/m);
  });

  it.each([
    ['the price of each domain that is found', 'price: 2', () => 96],
    ['what the reply says', 'cost: { header: x-cost }', (calls: number) => 10 * calls],
  ])('is billed %s', async (_, billing, unitsOf) => {
    const { url, asked } = await openApi({
      say: (domain) => (/^d[0-3]\.com$/.test(domain) ? { status: 404 } : everyOne(domain)),
      cost: '10',
    });
    const folder = openProfile(url);
    const profile = folder.read('acme.yaml');
    folder.write('acme.yaml', `${profile}billing: { unit: credits, ${billing} }\n`);
    const ended = await enrichHere(folder);
    const bill = { units: unitsOf(asked.length), unit: 'credits' };
    expect(summaryOf(ended)).toMatchObject({ bill });
  });

  it('goes over a queue as well, where what a run left is not asked again', async () => {
    const redis = await useDatabase();
    const { url, asked } = await openApi({ say: everyOne });
    const folder = openProfile(url, 10);
    const queue = ['--queue', redis.url, '--max-calls', '3'];
    const bounded = await enrichHere(folder, queue);
    // The bound is one of calls, each about ten domains.
    expect(summaryOf(bounded)).toMatchObject({ calls: 3 });
    expect(rowsOf(folder.read('list.enriched.csv')).filter(isFound).length).toBeGreaterThan(3);
    const before = asked.length;
    const ended = await enrichHere(folder, ['--queue', redis.url]);
    const calls = asked.length - before;
    expect(summaryOf(ended)).toMatchObject({ calls, statuses: { found: 52 } });
    for (const domain of DOMAINS) expect(callsAbout(asked, domain)).toHaveLength(1);
    expect(asked.length).toBeLessThan(20);
  });
});
