import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { isLeftOut } from '../support/left-out.ts';
import { freePort, useDatabase } from '../support/redis.ts';
import { useHttpServer } from '../support/servers.ts';
import { openApi, openServer } from './support/api.ts';
import { enrichHere, start, startHere, summaryOf } from './support/command.ts';
import { whyNoContainers } from './support/containers.ts';
import { domains, openList, rowsOf } from './support/folder.ts';

describe.skipIf(isLeftOut(whyNoContainers()))('a resolver that is away', () => {
  /** An API with a name that nobody can tell, until the resolver is back. */
  async function openUnnamed() {
    const folder = openList(40);
    const etc = folder.at('etc');
    mkdirSync(etc);
    // No server of names listens there, so the system says EAI_AGAIN.
    writeFileSync(join(etc, 'resolv.conf'), 'nameserver 127.0.0.1\noptions attempts:1\n');
    writeFileSync(join(etc, 'hosts'), '127.0.0.1 localhost\n');
    const api = await openServer();
    const comeBack = (): void =>
      writeFileSync(join(etc, 'hosts'), '127.0.0.1 localhost api.brands.test\n');
    const url = api.url.replace('127.0.0.1', 'api.brands.test');
    return { api, folder, options: { cwd: folder.path, etc }, url, comeBack };
  }

  it('when a run starts is waited for: no attempt is lost, and every row is found', async () => {
    const { api, options, url, comeBack } = await openUnnamed();
    const enrich = await start(['enrich', 'list.csv', '--base-url', url, '--json'], options);
    const said = await enrich.shows('calls wait until one does');
    expect(said).toContain('No call gets through to the API');
    expect(said).toContain('names cannot be looked up here');
    expect(said).toContain('resolver (DNS) did not answer');
    expect(said).not.toContain('is not known');
    comeBack();
    const ended = await enrich.ended;
    expect(ended.stderr).toContain('The API answers again.');
    expect(ended.code).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 40 }, retries: 0 });
    expect(api.requests).toHaveLength(40);
  });
});

it('a worker that starts before its API waits for it, though nothing ever listened there', async () => {
  const folder = openList(10);
  const port = await freePort();
  const flags = ['--base-url', `http://127.0.0.1:${port}`, '--queue', (await useDatabase()).url];
  const cwd = folder.path;
  const enrich = startHere(['enrich', 'list.csv', '--json', '--workers', '0', ...flags], { cwd });
  const worker = startHere(['worker', ...flags], { cwd });
  await worker.shows('nothing listens there');
  await openApi({ port });
  const ended = await enrich.ended;
  expect(ended.code, ended.stderr).toBe(0);
  expect(summaryOf(ended)).toMatchObject({ statuses: { found: 10 } });
  expect((await worker.stop()).code).toBe(0);
});

it('an API that sends each call to another path is seen to be back', async () => {
  const folder = openList(40);
  const known = new Set<string>();
  let left = 30;
  const { url } = await openServer(({ url: asked = '' }, response) => {
    const { pathname, searchParams } = new URL(asked, 'http://api');
    const domain = searchParams.get('domain') ?? '';
    if (!known.has(domain) && known.size >= 20 && left > 0) {
      left -= 1;
      response.writeHead(503).end('{}');
    } else if (pathname === '/v1/brand') {
      response.writeHead(301, { location: `/v2/brand?domain=${domain}` }).end();
    } else {
      known.add(domain);
      response.end(JSON.stringify({ name: domain }));
    }
  });
  const ended = await enrichHere(folder, url, '--json');
  expect(ended.code, ended.stderr).toBe(0);
  expect(summaryOf(ended)).toMatchObject({ statuses: { found: 40 } });
});

const PAGE = { headers: { 'content-type': 'text/html' }, body: '<html>Try again later</html>' };

/**
 * An API that answers so many domains, then does this with ten calls, whoever they are about, and
 * is well again.
 */
async function openOutage(answered: number, reply: SandboxReply) {
  const known = new Set<string>();
  // A call over a connection that was kept is made twice.
  let left = reply === 'reset' ? 20 : 10;
  return await openApi({
    respond: (domain) => {
      if (known.size < answered) return void known.add(domain);
      left -= 1;
      return left >= 0 ? reply : undefined;
    },
  });
}

describe('an outage that only the last three rows of a list meet', () => {
  const meets = (
    [
      ['503', { status: 503 }],
      ['broken connections', 'reset'],
      ['a page with 404', { status: 404, ...PAGE }],
      ['401', { status: 401, body: {} }],
    ] satisfies [string, SandboxReply][]
  ).flatMap(([name, reply]) =>
    [false, true].map((isQueued) => ({
      name,
      reply,
      isQueued,
      where: isQueued ? 'at a worker' : 'in a process',
    })),
  );

  it.each(meets)('costs none of them: $name $where', async ({ reply, isQueued }) => {
    const folder = openList(23);
    const api = await openOutage(20, reply);
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    // Rows that were retried without a look at the others would be given up at once.
    const flags = ['--concurrency', '4', '--retries', '1'];
    if (isQueued) {
      const queue = ['--queue', (await useDatabase()).url];
      startHere(['worker', ...queue, ...flags], options);
      flags.splice(0, flags.length, ...queue, '--workers', '0');
    }
    const ended = await startHere(['enrich', 'list.csv', '--json', ...flags], options).ended;
    expect(ended.code, ended.stderr).toBe(0);
    const { statuses, answers, calls } = summaryOf(ended);
    expect(statuses).toMatchObject({ found: 23 });
    // Probes are calls, too.
    const answered = Object.values(answers).reduce((sum, count) => sum + count, 0);
    if (!isQueued && reply !== 'reset') expect(answered).toBe(calls);
    if (reply !== 'reset') expect(calls).toBe(api.stats().calls);
  });
});

type Answer = Readonly<{ status: number; type?: string; body: string }>;

/**
 * An API on four machines: each connection is to the next of them, and the first answers all calls
 * alike.
 */
async function openFourMachines(sick: Answer, isRefused: (domain: string) => boolean) {
  const machines = new WeakMap<object, number>();
  let connections = 0;
  let calls = 0;
  const { url: baseUrl } = await useHttpServer(({ url = '', socket }, response) => {
    calls += 1;
    const machine = machines.get(socket) ?? connections++ % 4;
    machines.set(socket, machine);
    const domain = new URL(url, 'http://api.example').searchParams.get('domain') ?? '';
    const refusal = machine === 0 ? sick : isRefused(domain) ? REFUSED : undefined;
    setTimeout(() => {
      const { status, type = 'application/json', body } = refusal ?? { status: 200, body: '' };
      response.writeHead(status, { 'content-type': type });
      response.end(refusal ? body : JSON.stringify({ domain }));
    }, 20);
  });
  return { url: baseUrl, calls: () => calls };
}

const REFUSED: Answer = { status: 403, body: '{"no":true}' };
const SICK: readonly (Answer & { readonly name: string })[] = [
  { name: '403', ...REFUSED },
  { name: '502', status: 502, body: '{"error":"node"}' },
  { name: 'a page', status: 200, type: 'text/html; charset=utf-8', body: '<p>Oops' },
];

it.each(
  SICK.flatMap((sick) => [1, 4].map((concurrency) => ({ name: sick.name, sick, concurrency }))),
)(
  'of four machines one answers $name: $concurrency at once soon leave it',
  async ({ concurrency, sick }) => {
    const api = await openFourMachines(sick, () => false);
    const folder = openList(150);
    const ended = await enrichHere(folder, api.url, '--concurrency', String(concurrency), '--json');
    expect(summaryOf(ended).statuses.found, ended.stderr).toBe(150);
    expect(api.calls()).toBeLessThan(180);
  },
);

it('of four machines one refuses all, as the first domains are: none that is well is told refused', async () => {
  const all = domains(240);
  const refused = new Set(all.slice(0, 24));
  const api = await openFourMachines(REFUSED, (domain) => refused.has(domain));
  const folder = openList(all.length);
  // Few connections at a time, so that one call after the other may meet the same machine.
  const ended = await enrichHere(folder, api.url, '--concurrency', '2', '--json');
  const rejected = rowsOf(folder.read('list.enriched.csv'))
    .filter(({ brand_status: status }) => status === 'rejected')
    .map(({ domain }) => domain ?? '');
  expect(rejected.filter((domain) => !refused.has(domain))).toEqual([]);
  expect(rejected.length, ended.stderr).toBeGreaterThan(18);
  expect(summaryOf(ended).statuses.found).toBeGreaterThan(210);
});
