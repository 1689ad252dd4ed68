import { describe, expect, it } from 'vitest';
import type { SandboxAuth } from '../../src/sandbox/auth.ts';
import { createBrandAnswer, hashText } from '../../src/sandbox/brand-answer.ts';
import type { SandboxOptions, SandboxReply } from '../../src/sandbox/options.ts';
import { findLogo, latencyOf, type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { openApi } from '../integration/support/api.ts';
import { domains as createDomains } from '../integration/support/folder.ts';

/** What came of a call. */
async function get(url: string, init?: RequestInit) {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Asks the sandbox about a domain. */
const ask = ({ url }: Sandbox, domain: string, init?: RequestInit) =>
  get(`${url}/v1/brand?domain=${encodeURIComponent(domain)}`, init);

it.each([
  ['xn--mller-kva.de', 'Müller GmbH'],
  ['bank-of-oslo.se', 'Bank of Oslo AB'],
  ['globex.co.uk', 'Globex Ltd'],
  ['stark-industries.com', 'Stark Industries'],
])('the company of %s is called as a person would: %s', (domain, name) => {
  expect(createBrandAnswer(domain, hashText(domain, 1)).name).toBe(name);
});

describe('sandbox', () => {
  it.each([
    ['GET', '/api/eu/v1/brand?domain=acme.com', 200],
    ['GET', '/v1/brand?x=1&domain=acme%2Ecom&y=2', 200],
    ['GET', '/v1/brand?subdomain=acme.com', 400],
    ['GET', '/v1/brand?domain=', 400],
    ['GET', '/v1/brand?domain=%E0%A4%A', 400],
    ['GET', '/v1/brand?domain=www.com', 200],
    ['GET', '/v1/brand?domain=xn--mnchen-3ya.de', 200],
    ['GET', '/v1/brand?domain=www.acme.com', 422],
    ['GET', '/v1/brand?domain=Acme.com', 422],
    ['GET', '/v1/brand?domain=10.0.0.1', 422],
    ['GET', '/v1/brand?domain=m%C3%BCnchen.de', 422],
    ['GET', `/v1/brand?domain=${'a'.repeat(64)}.com`, 422],
    ['GET', '/v2/brand?domain=acme.com', 404],
    ['GET', '/%ZZ', 404],
    ['GET', '/__proto__', 404],
    ['POST', '/v1/brand?domain=acme.com', 405],
    ['GET', '/reset', 405],
    ['GET', '/healthz', 200],
  ])('answers %s %s with %d, in JSON', async (method, path, status) => {
    const { url } = await openApi();
    const got = await get(url + path, { method });
    expect(got.status).toBe(status);
    expect(() => JSON.parse(got.text) as unknown).not.toThrow();
    expect(got.headers.get('allow')).toBe(
      status === 405 ? { POST: 'GET', GET: 'POST' }[method] : null,
    );
  });

  it('says which port is in use and what to do', async () => {
    const { port } = await openApi();
    await expect(startSandbox({ port })).rejects.toMatchObject({
      message: `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another with option 'port', or 0 for any free one.`,
      code: 'INVALID_SETTING',
    });
  });

  it.each<[unknown, string]>([
    [{ errors: 2 }, '→ at errors'],
    [{ limit: { count: 0, perMs: 1000 } }, '→ at limit.count'],
    [{ latencyMs: { fromMs: 9, toMs: 3 } }, '→ at latencyMs'],
    [{ latency: 80 }, 'Unrecognized key: "latency"'],
    [{ limitKind: 'bucket' }, 'expected one of "token-bucket"'],
    [{ auth: { scheme: {}, key: 'k' } }, '→ at auth.scheme'],
    [{ respond: {} }, 'expected a function'],
    [null, 'received null'],
  ])('refuses %j: %s', async (options, expected) => {
    await expect(startSandbox(options as SandboxOptions)).rejects.toMatchObject({
      code: 'INVALID_SETTING',
      message: expect.stringContaining(expected),
    });
  });
});

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

const named = { kind: 'header', name: 'X-Api-Key' } as const;

it.each<[SandboxAuth, right: Record<string, string>, wrong: string]>([
  [{ scheme: { kind: 'bearer' }, key: 'k1' }, { authorization: 'bearer k1' }, 'Bearer k'],
  [{ scheme: { kind: 'basic' }, key: 'a:b' }, { authorization: basic('a:b') }, basic('a:')],
  [{ scheme: { kind: 'basic' }, key: 'k1' }, { authorization: basic('k1:') }, basic('k')],
  [{ scheme: named, key: 'k1' }, { 'x-api-key': 'k1' }, 'k1'],
])('the credential %j lets the right one in only', async (auth, right, wrong) => {
  const sandbox = await openApi({ auth });
  expect((await ask(sandbox, 'a.com', { headers: right })).status).toBe(200);
  for (const headers of [{ authorization: wrong }, {}]) {
    const refused = await ask(sandbox, 'a.com', { headers });
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'unauthorized' } });
    expect(refused.headers.has('www-authenticate')).toBe(!('name' in auth.scheme));
  }
  expect(sandbox.callsOf('a.com').answered).toBe(1);
});

it('a call beyond the limit is answered 429 at once, and counts nothing', async () => {
  const limit = { count: 1, perMs: 60_000 };
  const sandbox = await openApi({ limit, latencyMs: { fromMs: 10, toMs: 20 } });
  await ask(sandbox, 'a.com');
  const refused = await ask(sandbox, 'b.com');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'rate_limited' } });
  expect(sandbox.callsOf('b.com')).toEqual({ calls: 1, answered: 0, faulted: 0, throttled: 1 });
  expect(sandbox.stats()).toMatchObject({ throttled: 1, charged: 1 });
});

const range = { fromMs: 20, toMs: 7000 };

it('the latency is log-normal within a range: the median is the geometric mean, and one in a hundred is at each end', () => {
  const hashes = createDomains(20_000).map((domain) => hashText(domain, 1));
  const drawn = hashes.map((hash) => latencyOf(range, hash, 1)).sort((a, b) => a - b);
  const at = (share: number) => drawn[Math.floor(share * drawn.length)] ?? 0;
  expect([at(0), at(0.005), at(0.995)]).toEqual([20, 20, 7000]);
  expect(at(0.5)).toBeGreaterThan(350);
  expect(at(0.5)).toBeLessThan(400);
  expect([at(0.02) > 20, at(0.98) < 7000]).toEqual([true, true]);
});

const domains = createDomains(5000);
it('answers point to logos as the caller sees the sandbox, of which one in twenty is missing, one in SVG', async () => {
  const { url } = await openApi({ logos: true });
  const answer = await get(`${url.replace('127.0.0.1', 'localhost')}/v1/brand?domain=acme.com`);
  const { logos } = JSON.parse(answer.text) as { logos: { url: string }[] };
  const logo = logos[0]?.url ?? '';
  expect(logo).toMatch(/^http:\/\/localhost:\d+\/logos\/acme\.com\/light\.png$/);
  expect((await get(logo)).headers.get('content-type')).toBe('image/png');
  const pages = domains.map((domain) => findLogo(`/logos/${domain}/dark.png`, 1));
  const types = pages.map((page) => page?.headers?.['Content-Type'] ?? 'none');
  for (const type of ['none', 'image/svg+xml']) {
    const share = types.filter((one) => one === type).length / domains.length;
    expect(share).toBeCloseTo(0.05, 1);
  }
  expect(findLogo('/logos/<script>/dark.png', 1)).toBeUndefined();
});

it.each<[string, () => unknown, RegExp]>([
  ['throws', () => Promise.reject.call(undefined), /TypeError/],
  ['gives a header with a space', () => ({ headers: { 'a b': 'c' } }), /valid HTTP token/],
  ['gives another word', () => 'rest', /expected an answer, 'reset' or 'hang', received a string/],
])('respond that %s answers 500 with why', async (_, respond, why) => {
  const sandbox = await openApi({ respond: respond as () => SandboxReply });
  const { status, text } = await ask(sandbox, 'a.com');
  expect(status).toBe(500);
  expect(text).toMatch(why);
  expect(sandbox.stats().byStatus).toEqual({ 500: 1 });
});

describe('stats', () => {
  it('name the domains that were answered more than once, and tell a retry from a duplicate', async () => {
    const statuses = [500, 429, 200];
    const respond = (domain: string, call: number) =>
      domain === 'r.com' ? { status: statuses[call - 1] ?? 404 } : undefined;
    const sandbox = await openApi({ respond });
    const asked = ['a.com', 'b.com', 'c.com', 'b.com', '', 'nonsense'];
    await Promise.all(asked.map((domain) => ask(sandbox, domain)));
    for (const _ of statuses) await ask(sandbox, 'r.com');
    expect(sandbox.callsOf('r.com')).toEqual({ calls: 3, answered: 1, faulted: 1, throttled: 1 });
    expect(sandbox.stats()).toMatchObject({
      calls: 9,
      byStatus: { 200: 5, 400: 1, 422: 1, 429: 1, 500: 1 },
      charged: 5,
      faulted: 1,
      domains: {
        distinct: 4,
        mostCalls: 3,
        repeated: 1,
        repeats: [{ domain: 'b.com', calls: 2, answered: 2, faulted: 0, throttled: 0 }],
      },
    });
  });

  it('count a call whose caller left as abandoned', async () => {
    const sandbox = await openApi({ latencyMs: 60_000 });
    const leaving = new AbortController();
    const call = ask(sandbox, 'a.com', { signal: leaving.signal });
    await expect.poll(() => sandbox.stats().concurrency.now).toBe(1);
    leaving.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(sandbox.stats).toMatchObject({ abandoned: 1, concurrency: { now: 0 } });
    expect(sandbox.callsOf('a.com')).toMatchObject({ calls: 1, answered: 0 });
  });
});
