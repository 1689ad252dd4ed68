import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createScript } from '../../src/sandbox/script.ts';
import type { SandboxRule } from '../../src/sandbox/script-rule.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ask, askAll, createDomains, type Got, get, openSandbox } from './sandboxes.ts';

const REHEARSALS = join(import.meta.dirname, '../../samples/rehearsals');

/** The rules of a script that is shipped. */
async function rulesOf(name: string): Promise<SandboxRule[]> {
  return parse(await readFile(join(REHEARSALS, `${name}.yaml`), 'utf8')) as SandboxRule[];
}

async function rehearse(name: string): Promise<Sandbox> {
  return openSandbox({ script: await rulesOf(name) });
}

/** Asks about domains one after another, each once. */
async function askInTurn(sandbox: Sandbox, count: number): Promise<Got[]> {
  const got: Got[] = [];
  for (const domain of createDomains(count)) got.push(await ask(sandbox, domain));
  return got;
}

/** What goes over the wire for a domain, byte for byte. */
async function wireOf({ port }: Sandbox, domain: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  socket.write(`GET /v1/brand?domain=${domain} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return text(socket);
}

const statusesOf = (got: readonly Got[]): number[] => got.map(({ status }) => status);

describe('a script that is shipped', () => {
  it('plays a limit that refuses with 403, from a call on and for a time', async () => {
    let nowMs = 1_000_000;
    const script = createScript(await rulesOf('limit-by-403'), { now: () => nowMs });
    const play = () => script.replyTo({ domain: 'a.com', hash: 1, ordinal: 1, isReused: false });
    for (let call = 1; call < 30; call += 1) expect(play()).toBeUndefined();
    expect(play()).toMatchObject({ status: 403, headers: { 'X-RateLimit-Reset': '1006' } });
    nowMs += 5_000;
    expect(play()).toMatchObject({ status: 403, headers: { 'X-RateLimit-Reset': '1006' } });
    nowMs += 1_000;
    expect(play()).toBeUndefined();
    const got = (await askInTurn(await rehearse('limit-by-403'), 31)).slice(28);
    expect(statusesOf(got)).toEqual([200, 403, 403]);
    expect(got[1]?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(got[1]?.text).not.toBe(got[2]?.text); // each has its own request id
  });

  it('plays a Retry-After in every form, each once for a domain', async () => {
    const sandbox = await rehearse('retry-after');
    const got = await askAll(sandbox, createDomains(60));
    expect(new Set(statusesOf(got))).toEqual(new Set([403, 420, 422, 429, 430, 498]));
    const inMs: Readonly<Record<number, (text: string) => number>> = {
      429: (text) => Date.now() + Number(text) * 1_000,
      403: (text) => Date.now() + Number(text) * 1_000,
      420: (text) => Date.parse(text),
      430: (text) => Number(text) * 1_000,
      498: Number,
      422: (text) => Date.parse(text),
    };
    for (const { status, headers } of got) {
      const atMs = inMs[status]?.(headers.get('retry-after') ?? '') ?? NaN;
      expect(Math.abs(atMs - Date.now() - 2_000)).toBeLessThan(60_000);
    }
    expect(got.find(({ status }) => status === 403)?.headers.get('retry-after')).toBe('1.500');
    expect(new Set(statusesOf(await askAll(sandbox, createDomains(60))))).toEqual(new Set([200]));
  });

  it('plays temporary statuses, each once for a domain', async () => {
    const sandbox = await rehearse('temporary-statuses');
    await askAll(sandbox, createDomains(150));
    // Of the counts: `fetch` itself asks again after 421.
    expect(Object.keys(sandbox.stats().byStatus)).toEqual([
      '200',
      '409',
      '420',
      '421',
      '423',
      '424',
      '425',
      '430',
      '449',
      '498',
    ]);
    const again = await askAll(sandbox, createDomains(150));
    expect(new Set(statusesOf(again))).toEqual(new Set([200]));
  });

  it('plays the same refusal for all from a call on, with the domain in it', async () => {
    const got = await askInTurn(await rehearse('refused'), 32);
    expect(statusesOf(got.slice(28))).toEqual([200, 422, 422, 422]);
    expect(got[29]?.text).toContain('company-29.com');
    expect(got[30]?.text).toContain('company-30.com');
  });

  it("plays pages, texts and a gateway's JSON between two calls", async () => {
    const got = await askInTurn(await rehearse('gateway'), 62);
    const types = new Set(got.slice(29, 60).map(({ headers }) => headers.get('content-type')));
    expect(types).toEqual(new Set(['text/html', 'text/plain', 'application/json; charset=utf-8']));
    for (const { text } of got.slice(29, 60)) expect(text).not.toContain('company-');
    for (const { text } of [...got.slice(0, 29), ...got.slice(60)])
      expect(text).toContain('company-');
  });

  it('plays a check for bots, one answer for all, and a redirect that loses the domain', async () => {
    const [bots, same, lost] = await Promise.all(
      ['bot-wall', 'same-answer', 'lost-domain'].map(rehearse),
    );
    if (!bots || !same || !lost) throw new Error('not started');
    expect(await ask(bots, 'a.com')).toMatchObject({ status: 403, text: /^<!doctype/ });
    expect((await ask(same, 'a.com')).text).toBe((await ask(same, 'b.com')).text);
    const moved = await ask(lost, 'a.com', { redirect: 'manual' });
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/welcome']);
    expect(await ask(lost, 'a.com')).toMatchObject({ status: 200, text: '{"name":"Welcome"}' });
    expect(lost.stats().calls).toBe(2); // the other page is no call of the API
    expect((await get(`${lost.url}/other`)).status).toBe(404);
  });

  it('plays successes other than 200, with the answer where there may be one', async () => {
    const got = await askAll(await rehearse('other-2xx'), createDomains(100));
    expect(new Set(statusesOf(got))).toEqual(new Set([200, 201, 203, 204, 205, 206]));
    for (const { status, text, headers } of got) {
      expect(text.includes('"domain"')).toBe(status !== 204 && status !== 205);
      expect(headers.has('content-length')).toBe(status !== 204);
    }
  });

  it('plays 200 that says itself that it is no answer, for a time and then for good', async () => {
    let nowMs = 0;
    const script = createScript(await rulesOf('error-in-200'), { now: () => nowMs });
    const play = () => script.replyTo({ domain: 'a.com', hash: 1, ordinal: 1, isReused: false });
    for (let call = 1; call < 20; call += 1) expect(play()).toBeUndefined();
    expect(play()).toMatchObject({ status: 200, body: expect.stringContaining('maintenance') });
    nowMs += 5_000;
    for (let call = 21; call < 40; call += 1) expect(play()).toBeUndefined();
    expect(play()).toMatchObject({ status: 200, body: expect.stringContaining('a.com') });
    const got = await askInTurn(await rehearse('error-in-200'), 20);
    expect(new Set(statusesOf(got))).toEqual(new Set([200]));
    expect(JSON.parse(got[19]?.text ?? '')).toEqual({
      status: 'maintenance',
      message: 'Back soon',
    });
  });

  it('plays 202 for a number of calls, for a time, and with a Retry-After', async () => {
    let nowMs = 0;
    const script = createScript(await rulesOf('pending'), { now: () => nowMs });
    const statusOf = (hash: number): number => {
      const reply = script.replyTo({ domain: `${hash}.com`, hash, ordinal: 1, isReused: false });
      return typeof reply === 'object' ? (reply.status ?? 200) : 200;
    };
    const ready = Array.from({ length: 60 }, (_, hash) => {
      const calls = [statusOf(hash), statusOf(hash), statusOf(hash)];
      nowMs += 20_000;
      return [...calls, statusOf(hash)].join();
    });
    expect(new Set(ready)).toEqual(
      new Set(['202,202,200,200', '202,202,202,200', '202,200,200,200']),
    );
    const got = await askAll(await rehearse('pending'), createDomains(30));
    expect(new Set(statusesOf(got))).toEqual(new Set([202]));
    expect(new Set(got.map(({ headers }) => headers.get('retry-after')))).toEqual(
      new Set([null, '3']),
    );
  });

  it('plays whole bodies that are no JSON, and bodies that are cut off', async () => {
    const sandbox = await rehearse('no-json');
    const asked = createDomains(60).map((domain) => ask(sandbox, domain).catch(() => 'cut'));
    const got = await Promise.all(asked);
    const texts = got.map((one) => (typeof one === 'string' ? one : one.text));
    for (const expected of [/NaN/, /"two\nlines"/, /^<br \/>Warning/, /^cut$/]) {
      expect(texts.filter((text) => expected.test(text)).length).toBeGreaterThan(3);
    }
  });

  it('plays HTTP that cannot be parsed, byte for byte, and unknown charsets and codings', async () => {
    const sandbox = await rehearse('invalid-http');
    const wires = await Promise.all(createDomains(80).map((domain) => wireOf(sandbox, domain)));
    for (const expected of [
      /Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n\{"name":"A"\}\r\n0\r\n\r\n$/,
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
      /\r\nX Powered By: ASP\r\n/,
      /charset=x-unknown/,
      /charset=iso-8859-1[^]*\{"name":"Caf\xe9"\}$/,
      /Content-Encoding: x-unknown/,
    ]) {
      expect(wires.filter((wire) => expected.test(wire)).length).toBeGreaterThan(3);
    }
    expect(sandbox.stats().byStatus).toEqual({ 200: 80 });
  });

  it('plays 429 for ever, a limit that is not enforced, and 503 with the rest of its time', async () => {
    const [quota, limit, outage] = await Promise.all(
      ['quota-by-429', 'limit-not-enforced', 'outage'].map(rehearse),
    );
    if (!quota || !limit || !outage) throw new Error('not started');
    const refused = (await askInTurn(quota, 40)).slice(29);
    expect(new Set(statusesOf(refused))).toEqual(new Set([429]));
    expect(refused.some(({ headers }) => headers.has('retry-after'))).toBe(false);
    const [first, second] = await askInTurn(limit, 2);
    expect([first?.status, second?.status]).toEqual([200, 200]);
    const resetMs = Number(second?.headers.get('x-ratelimit-reset')) * 1_000 - Date.now();
    expect(resetMs).toBeGreaterThan(590_000);
    const out = (await askInTurn(outage, 31)).slice(29);
    expect(statusesOf(out)).toEqual([503, 503]);
    expect(Number(out[1]?.headers.get('retry-after'))).toBeLessThanOrEqual(20);
  });

  it('plays a reset of each connection that had a call before', async () => {
    const sandbox = await rehearse('one-call-per-connection');
    expect(await wireOf(sandbox, 'a.com')).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(await wireOf(sandbox, 'b.com')).toMatch(/^HTTP\/1\.1 200 OK/);
    const socket = connect(sandbox.port, '127.0.0.1');
    const call = (domain: string) =>
      socket.write(`GET /v1/brand?domain=${domain} HTTP/1.1\r\nHost: x\r\n\r\n`);
    call('c.com');
    await once(socket, 'data');
    const reset = once(socket, 'close');
    call('d.com');
    await expect(reset).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(sandbox.stats()).toMatchObject({ calls: 4, unanswered: 1 });
  });

  it('is checked here', async () => {
    const source = await readFile(import.meta.filename, 'utf8');
    for (const name of await readdir(REHEARSALS)) {
      expect(source).toContain(`'${name.replace('.yaml', '')}'`);
    }
  });
});

describe('a script', () => {
  it('leaves calls that no rule is for to the other options', async () => {
    const sandbox = await openSandbox({ script: [{ domains: ['a.com', '*.de'], status: 418 }] });
    const got = await Promise.all(
      ['a.com', 'x.de', 'b.com', 'a.com.de'].map((domain) => ask(sandbox, domain)),
    );
    expect(statusesOf(got)).toEqual([418, 418, 200, 418]);
  });

  it('takes the first rule that fits, and begins anew when the counts are reset', async () => {
    const script = [
      { times: 1, status: 500 },
      { calls: '1-2', status: 502 },
    ];
    const sandbox = await openSandbox({ script });
    const thrice = async () => [
      (await ask(sandbox, 'a.com')).status,
      (await ask(sandbox, 'a.com')).status,
      (await ask(sandbox, 'a.com')).status,
    ];
    expect(await thrice()).toEqual([500, 502, 200]);
    await get(`${sandbox.url}/reset`, { method: 'POST' });
    expect(await thrice()).toEqual([500, 502, 200]);
  });

  it('chooses a share of the domains for good, and a share of the calls each time', async () => {
    const hash = (text: string): number => text.length;
    const script = createScript([{ share: '50%', status: 500 }]);
    const play = (ordinal: number) =>
      script.replyTo({ domain: 'a.com', hash: hash('a.com'), ordinal, isReused: false });
    const replies = Array.from({ length: 100 }, (_, ordinal) => play(ordinal)).filter(Boolean);
    expect(replies.length).toBeGreaterThan(30);
    expect(replies.length).toBeLessThan(70);
  });

  it('is also what a program replies with: bytes as a body, or as the whole answer', async () => {
    const raw = 'HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nok';
    const sandbox = await openSandbox({
      respond: (domain) =>
        ({
          'a.com': { raw, status: 299 },
          'b.com': { body: Buffer.from('Caf\xe9', 'latin1') },
          'c.com': { raw: 5 as unknown as string },
        })[domain],
    });
    expect(await wireOf(sandbox, 'a.com')).toBe(raw);
    expect(await wireOf(sandbox, 'b.com')).toMatch(/\r\nContent-Length: 4\r\n[^]*\r\n\r\nCaf\xe9$/);
    expect(await wireOf(sandbox, 'c.com')).toMatch(/^HTTP\/1\.1 500 [^]*raw/);
    expect(sandbox.stats().byStatus).toEqual({ 200: 1, 299: 1, 500: 1 });
  });

  it('sends a reply late, or never', async () => {
    const sandbox = await openSandbox({
      script: [{ domains: 'a.com', delay: '40ms' }, { end: 'hang' }],
    });
    const startedMs = performance.now();
    await ask(sandbox, 'a.com');
    expect(performance.now() - startedMs).toBeGreaterThan(35);
    await expect(ask(sandbox, 'b.com', { signal: AbortSignal.timeout(40) })).rejects.toThrow();
  });

  it.each<[unknown, string]>([
    [{ status: 503 }, "'script' must be a list of rules such as [{ status: 503 }]"],
    [[503], "'script[0]' must be an object such as { status: 503 }: current value is 503"],
    [[{ stauts: 503 }], "'script[0].stauts' is unknown; there are: calls, domains, share, times"],
    [
      [{}, { status: 42 }],
      "'script[1].status' must be a whole number from 200 to 999: current value is 42",
    ],
    [
      [{ calls: '60-30' }],
      "'script[0].calls' must be a number of a call, or a range such as 30-60",
    ],
    [[{ domains: [] }], "'script[0].domains' must be a domain, a list of them"],
    [[{ domains: '200%' }], "'script[0].domains' must be"],
    [
      [{ share: 0.2 }],
      "'script[0].share' must be a share of the calls such as 20% or 20-40%: current value is 0.2",
    ],
    [[{ share: '40-20%' }], "'script[0].share' must be"],
    [[{ times: 0 }], "'script[0].times' must be a whole number, 1 or more"],
    [
      [{ for: '20' }],
      "'script[0].for' must be a duration such as 200ms, 20s, 5min, 1h or 2d: current value is 20",
    ],
    [[{ path: '/api/v1/brand' }], "'script[0].path' must be a path such as /login, other than"],
    [[{ headers: { A: null } }], "'script[0].headers' must be names with texts or numbers"],
    [[{ headers: { 'A B': 'x' } }], "'script[0].headers' cannot be sent: Header name must be"],
    [[{ headers: { A: 'ä☃' } }], "'script[0].headers' cannot be sent: Invalid character"],
    [
      [{ headers: { A: '{in 20 as epoch}' } }],
      "'script[0].headers' cannot be sent: {in 20 as epoch} is no time; expected such as {in 20s as epoch}",
    ],
    [
      [{ headers: { A: '{in 20s as unix}' } }],
      'as one of seconds, fraction, ms, date, epoch, epoch-ms, iso',
    ],
    [[{ headers: { A: '{left as epoch}' } }], "{left as …} needs the rule's own 'for'"],
    [
      [{ body: 'of {domian}' }],
      "'script[0].body' cannot be sent: {domian} is unknown; expected {domain}",
    ],
    [[{ raw: 'HTTP', status: 200 }], "'script[0].raw' leaves no room for 'status': leave one out"],
    [[{ end: 'reset', body: '' }], "'script[0].end' leaves no room for 'body'"],
    [[{ end: 'reset', delay: '1s' }], "'script[0].end' leaves no room for 'delay'"],
    [[{ path: '/a', times: 1 }], "'script[0].path' leaves no room for 'times'"],
    [[{ end: 'close' }], "'script[0].end' must be reset or hang"],
    [[{ encoding: 'utf7' }], "'script[0].encoding' must be one of utf8, latin1, utf16le"],
  ])('is refused with what is wrong: %j', async (script, expected) => {
    const starting = startSandbox({ script: script as SandboxRule[] });
    await expect(starting).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
      message: expect.stringContaining(`Cannot start the sandbox as `),
    });
    await expect(starting).rejects.toThrow(expected);
  });
});
