import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openServer } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { rowsOf } from './support/tables.ts';

/** Answers a call. `nth` counts the calls of a domain from 1, `total` all calls. */
type Answer = (
  call: { readonly domain: string; readonly nth: number; readonly total: number; at: number },
  response: ServerResponse,
  request: IncomingMessage,
) => void;

/** Runs a list against an API that answers as given, and says what came out. */
async function enrich(rows: number, answer: Answer, more: readonly string[] = []) {
  const folder = openList(rows);
  const callsOf = new Map<string, number>();
  let total = 0;
  const server = await openServer((request, response) => {
    const domain = new URL(request.url ?? '', 'http://api').searchParams.get('domain') ?? '';
    const nth = (callsOf.get(domain) ?? 0) + 1;
    callsOf.set(domain, nth);
    total += 1;
    answer({ domain, nth, total, at: Number(/\d+/.exec(domain)?.[0]) }, response, request);
  });
  const again = async () => {
    const args = ['enrich', 'list.csv', '--base-url', server.url, '--json', ...more];
    const ended = await runHere(args, { cwd: folder.path });
    const { statuses, stopped } = summaryOf(ended);
    const kept = Object.entries(statuses).filter(([, count]) => count > 0);
    return { code: ended.code, stderr: ended.stderr, statuses: Object.fromEntries(kept), stopped };
  };
  const failures = () => rowsOf(folder.read('list.failures.csv'));
  return { ...(await again()), again, failures, calls: () => total };
}

function say(
  response: ServerResponse,
  body: unknown,
  { status = 200, ...headers }: Readonly<Record<string, string | number>> = {},
): void {
  const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' };
  response.writeHead(Number(status), { ...type, ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const found: Answer = ({ domain }, response) => say(response, { name: domain });

describe('about the moment: a refusal that says "later" itself is waited for, and not kept', () => {
  it.each([403, 420, 422, 503])('%i with Retry-After', async (status) => {
    const ended = await enrich(12, (call, response, request) => {
      const isRefused = call.total > 3 && call.total <= 6;
      if (isRefused) return say(response, { error: 'slow down' }, { status, 'retry-after': 0.2 });
      return found(call, response, request);
    });
    expect(ended).toMatchObject({ code: 0, statuses: { found: 12 } });
  });

  it('403 with a limit that has nothing left, and a reset', async () => {
    let used = 0;
    let resetAt = 0;
    const ended = await enrich(30, ({ domain }, response) => {
      const now = Date.now();
      if (now > resetAt) [used, resetAt] = [0, now + 1_500];
      used += 1;
      const headers = {
        'x-ratelimit-limit': 20,
        'x-ratelimit-remaining': Math.max(0, 20 - used),
        'x-ratelimit-reset': Math.ceil(resetAt / 1_000),
      };
      say(response, { name: domain }, { status: used > 20 ? 403 : 200, ...headers });
    });
    expect(ended).toMatchObject({ code: 0, statuses: { found: 30 } });
  });

  it.each([409, 498])(
    '%i without a time is tried again, then failed, and asked by the next run',
    async (status) => {
      let isMended = false;
      const ended = await enrich(
        10,
        (call, response, request) =>
          call.at === 7 && !isMended
            ? say(response, { error: 'not now' }, { status })
            : found(call, response, request),
        ['--retries', '1'],
      );
      expect(ended).toMatchObject({ code: 3, statuses: { found: 9, failed: 1 } });
      expect(ended.failures()).toMatchObject([
        { brand_reason: `http_${status}`, brand_attempts: '2' },
      ]);
      isMended = true;
      expect(await ended.again()).toMatchObject({ code: 0, statuses: { found: 10 } });
    },
  );
});

describe('about the caller: the same refusal of different domains, no success between', () => {
  const said = (domain: string, total: number) => ({
    error: `no brand of ${domain} in your plan`,
    request: `req-${total}-8f3a`,
  });

  it.each([0, 60])(
    'stops after five, keeps nothing of it, and says why (from %i on)',
    async (from) => {
      let isMended = false;
      const ended = await enrich(
        120,
        (call, response, request) =>
          isMended || call.total <= from
            ? found(call, response, request)
            : say(response, said(call.domain, call.total), { status: 400 }),
        ['--concurrency', '4'],
      );
      expect(ended.code).toBe(4);
      expect(ended.statuses).toEqual({ ...(from > 0 ? { found: from } : {}), skipped: 120 - from });
      expect(ended.stopped).toMatchObject({ reason: 'refused' });
      expect(ended.stderr).toContain('in your plan');
      expect(ended.calls()).toBeLessThan(from + 5 + 4);
      isMended = true;
      expect(await ended.again()).toMatchObject({ code: 0, statuses: { found: 120 } });
    },
  );

  it('is believed of a share of the domains, and with --max-failed 100% of all', async () => {
    const refuse: Answer = (call, response, request) =>
      call.at % 3 === 0
        ? say(response, said(call.domain, call.total), { status: 422 })
        : found(call, response, request);
    const mixed = await enrich(90, refuse);
    expect(mixed).toMatchObject({ code: 0, statuses: { found: 60, rejected: 30 } });
    const all = await enrich(
      20,
      ({ domain, total }, response) => say(response, said(domain, total), { status: 422 }),
      ['--max-failed', '100%'],
    );
    expect(all.statuses).toEqual({ rejected: 20 });
  });
});

describe('about the gateway: an answer that is not the API’s, where JSON came before', () => {
  it.each<[string, number, unknown, string]>([
    ['a page with 404', 404, '<!doctype html><h1>Not Found</h1>', 'gateway_page'],
    ['a page with 200', 200, '<html>Please log in</html>', 'gateway_page'],
    ['a page with 401', 401, '<html>Log in</html>', 'gateway_page'],
    ['a page with 202', 202, '<html>Checking your browser</html>', 'gateway_page'],
    ['a text with 403, after JSON with 404', 403, 'RBAC: access denied', 'gateway_text'],
    ['a text with 404', 404, 'default backend - 404', 'gateway_text'],
    [
      'a gateway’s own JSON',
      404,
      { message: 'no Route matched with those values' },
      'gateway_json',
    ],
  ])('%s is tried again like a 5xx, and never kept', async (_, status, body, reason) => {
    const answer: Answer = (call, response, request) => {
      const isFirst = call.nth === 1 && call.total > 40 && call.total % 7 === 0;
      if (call.at === 50 || isFirst) {
        return say(response, body, { status });
      }
      if (call.at % 4 === 3) return say(response, { error: 'unknown' }, { status: 404 });
      return found(call, response, request);
    };
    const ended = await enrich(80, answer, ['--concurrency', '4', '--retries', '1']);
    expect(ended.statuses).toEqual({ found: 59, not_found: 20, failed: 1 });
    expect(ended.failures()).toContainEqual(
      expect.objectContaining({ domain: 'company-50.com', brand_reason: reason }),
    );
  });
});

describe('about the caller: 200 that says itself that it is none', () => {
  it.each([0, 60])('stops when five domains in a row get it (from %i on)', async (from) => {
    const ended = await enrich(120, (call, response, request) =>
      call.total <= from
        ? found(call, response, request)
        : say(response, { error: 'subscription ended', request_id: `r-${call.total}` }),
    );
    expect(ended).toMatchObject({ code: 4, stopped: { reason: 'refused' } });
    expect(ended.statuses['found'] ?? 0).toBe(from);
    expect(ended.stderr).toContain('subscription ended');
  });

  it('is about the domain where others are found, and never found itself', async () => {
    const ended = await enrich(40, (call, response, request) =>
      call.at % 4 === 2
        ? say(response, { success: false, message: 'no such company' })
        : found(call, response, request),
    );
    expect(ended.statuses).toEqual({ found: 30, rejected: 10 });
  });

  it('is waited for when it says that the service is not there for now', async () => {
    const ended = await enrich(40, (call, response, request) =>
      call.at === 20 && call.nth === 1
        ? say(response, { status: 'maintenance' })
        : found(call, response, request),
    );
    expect(ended).toMatchObject({ code: 0, statuses: { found: 40 } });
  });
});

describe('about the path: JSON of a router or a gateway', () => {
  const noRoute = { message: 'no Route matched with those values' };

  it('is a sign of a wrong address in the first calls', async () => {
    const ended = await enrich(50, (_, response) => say(response, noRoute, { status: 404 }));
    expect(ended).toMatchObject({ code: 4, stopped: { seen: 'not_found_path' } });
    expect(ended.calls()).toBe(5);
  });

  it('is tried again in mid-run, also where no other domain was unknown before', async () => {
    const ended = await enrich(80, (call, response, request) =>
      call.total > 30 && call.total % 4 === 0 && call.nth === 1
        ? say(response, noRoute, { status: 404 })
        : found(call, response, request),
    );
    expect(ended).toMatchObject({ code: 0, statuses: { found: 80 } });
  });
});

describe('about the address: 200 that is no answer', () => {
  it('stops also in mid-run, when five domains in a row get one and the same record', async () => {
    const ended = await enrich(120, (call, response, request) =>
      call.total <= 60
        ? found(call, response, request)
        : say(response, {
            name: 'Demo',
            city: 'Oslo',
            at: call.total,
            site: 'https://demo.example',
          }),
    );
    expect(ended).toMatchObject({ code: 4, stopped: { reason: 'refused' } });
    expect(ended.statuses).toEqual({ found: 60, skipped: 60 });
  });

  it.each([
    ['what a server says of itself', { status: 'ok' }],
    ['nothing', {}],
    ['no data', { success: true, data: null }],
    ['a whole record', { name: 'Demo', site: 'https://demo.example', city: 'Oslo' }],
  ])('stops when five domains get one and the same body: %s', async (_, body) => {
    const ended = await enrich(50, (__, response) => say(response, body));
    expect(ended).toMatchObject({
      code: 4,
      stopped: { reason: 'misdirected', seen: 'same_answer' },
    });
    expect(ended.calls()).toBe(5);
  });

  it('not when the body says so little that companies may well share it', async () => {
    const ended = await enrich(50, (_, response) => say(response, { industry: 'retail' }));
    expect(ended).toMatchObject({ code: 0, statuses: { found: 50 } });
  });

  it('stops when redirects lose the domain, and follows none of them', async () => {
    const ended = await enrich(50, (_, response) =>
      say(response, '', { status: 302, location: '/home' }),
    );
    expect(ended).toMatchObject({ stopped: { reason: 'misdirected', seen: 'lost_domain' } });
    expect(ended.calls()).toBe(5);
  });
});

describe('about the domain', () => {
  it.each([201, 299])('%i with a JSON object is found', async (status) => {
    const ended = await enrich(5, ({ domain }, response) =>
      say(response, { name: domain }, { status }),
    );
    expect(ended).toMatchObject({ code: 0, statuses: { found: 5 } });
  });

  it.each([204, 205])('%i is not found, and not asked again', async (status) => {
    const ended = await enrich(10, (call, response, request) =>
      call.at % 2 ? response.writeHead(status).end() : found(call, response, request),
    );
    expect(ended).toMatchObject({ code: 0, statuses: { found: 5, not_found: 5 } });
    await ended.again();
    expect(ended.calls()).toBe(10);
  });

  it.each([
    ['NaN', '{"growth":NaN}', `no JSON: 'NaN}' at character 11`],
    ['a raw line break', '{"name":"a\nb"}', `no JSON: '"a b"}' at character 9`],
    [
      'a warning in front',
      '<br />\n<b>Warning</b>: x\n{"name":"a"}',
      `no JSON: '<br /> <b>Warning</b>: x {"name":"a"}' at character 1`,
    ],
  ])(
    'a whole body that is no JSON is asked once more and then kept: %s',
    async (_, body, reason) => {
      const ended = await enrich(40, (call, response, request) =>
        call.at % 8 === 5
          ? say(response, body, { 'content-type': 'application/json' })
          : found(call, response, request),
      );
      expect(ended.statuses).toEqual({ found: 35, rejected: 5 });
      expect(ended.failures()[0]).toMatchObject({ brand_reason: reason, brand_attempts: '2' });
      expect(ended.calls()).toBe(45);
      await ended.again();
      expect(ended.calls()).toBe(45);
    },
  );

  it('a body that was cut off is tried again up to three times, and asked by the next run', async () => {
    const ended = await enrich(10, (call, response, request) =>
      call.at === 5 ? say(response, '{"name":"Ac') : found(call, response, request),
    );
    expect(ended.statuses).toEqual({ found: 9, failed: 1 });
    expect(ended.calls()).toBe(13);
  });
});
