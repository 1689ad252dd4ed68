import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { createGate } from '../support/gate.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './clients.ts';

const TIMEOUT = { kind: 'try_again', httpStatus: undefined, reason: 'timeout' };
const INVALID = { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' };

/** A sandbox that always says the same. */
async function sandboxThatSays(reply: SandboxReply): Promise<Sandbox> {
  return await useSandbox({ respond: () => reply });
}

describe('a found answer', () => {
  it.each([
    ['numbers as they are written', '{"a":1.10,"b":1e3,"c":-0.0}'],
    ['the order of its names', '{"z":1,"a":2,"10":3,"9":4}'],
    ['names that come twice', '{"a":1,"a":2}'],
    ['escapes as they are', String.raw`{"a":"\u00e9\/\n","b":"\ud83d\ude00"}`],
    ['letters of any script', '{"name":"Zoë 食狮 😀 \u2028 ﷽"}'],
    ['white space', '\r\n\t {  "a" :\n1 } \n'],
    ['no value at all', '{}'],
  ])('keeps %s', async (_, json) => {
    const { url } = await sandboxThatSays({ body: json });
    expect(await useClient(url).ask()).toEqual({
      kind: 'found',
      httpStatus: 200,
      json,
      value: JSON.parse(json) as unknown,
    });
  });

  it('keeps the digits of numbers that are too long for a double', async () => {
    const json = '{"id":12345678901234567890}';
    const { url } = await sandboxThatSays({ body: json });
    expect(await useClient(url).ask()).toMatchObject({
      json,
      value: { id: '12345678901234567890' },
    });
  });

  it.each([
    ['with its length', 'content-length: 10\r\n\r\n\uFEFF{"a":1}'],
    ['chunked', 'transfer-encoding: chunked\r\n\r\na\r\n\uFEFF{"a":1}\r\n0\r\n\r\n'],
  ])('is read behind a byte order mark (%s)', async (_, rest) => {
    const { url } = await useScriptedServer(`HTTP/1.1 200 OK\r\n${rest}`);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: '{"a":1}' });
  });

  it('needs no content type, and none keeps it from being read', async () => {
    const bare = await useScriptedServer('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    const html = await sandboxThatSays({ body: '{}', headers: { 'content-type': 'text/html' } });
    expect(await useClient(bare.url).ask()).toMatchObject({ kind: 'found' });
    expect(await useClient(html.url).ask()).toMatchObject({ kind: 'found' });
  });

  it.each([
    ['empty', ''],
    ['cut short', '{"name":"Acm'],
    ['a web page', '<html><body>Please log in</body></html>'],
    ['a list', '[{"name":"Acme"}]'],
    ['null', 'null'],
    ['a text', '"Acme"'],
    ['two objects', '{}{}'],
  ])('is none when the body is %s', async (_, body) => {
    const { url } = await sandboxThatSays({ body });
    expect(await useClient(url).ask()).toEqual(INVALID);
  });

  it('is none when the connection ends within the body', async () => {
    const cut = await sandboxThatSays({ body: '{"name":"Acme"}', breakOff: true });
    const chunked = await useTcpServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{"a":"b"}\r\n'),
    );
    expect(await useClient(cut.url).ask()).toEqual(INVALID);
    expect(await useClient(chunked.url).ask()).toEqual(INVALID);
  });
});

describe('a call that got no answer', () => {
  it('that takes too long before the headers ends on time', async () => {
    const { url } = await sandboxThatSays('hang');
    const { ask } = useClient(url, { timeoutMs: 120 });
    const startMs = performance.now();
    expect(await ask()).toMatchObject(TIMEOUT);
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThan(118);
    expect(tookMs).toBeLessThan(500);
  });

  it.each([
    ['plain', 'content-length: 100\r\n\r\n{"a":'],
    ['chunked', 'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'],
    ['gzip', 'content-encoding: gzip\r\ncontent-length: 100\r\n\r\n\x1f\x8b\x08'],
  ])('that stops within the body ends on time (%s)', async (_, rest) => {
    const { url } = await useScriptedServer(Buffer.from(`HTTP/1.1 200 OK\r\n${rest}`, 'latin1'));
    const { ask } = useClient(url, { timeoutMs: 120 });
    const startMs = performance.now();
    expect(await ask()).toMatchObject(TIMEOUT);
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThan(118);
    expect(tookMs).toBeLessThan(500);
  });

  it('cannot be kept alive by a trickle of bytes', async () => {
    const { url } = await useHttpServer((_, response) => {
      response.write('{');
      const trickle = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(trickle));
    });
    expect(await useClient(url, { timeoutMs: 120 }).ask()).toMatchObject(TIMEOUT);
  });

  it('leaves its connection fit for use after a timeout of another', async () => {
    const { url } = await useSandbox({
      respond: (domain) => (domain === 'slow.com' ? 'hang' : undefined),
    });
    const { ask } = useClient(url, { timeoutMs: 60 });
    for (let round = 0; round < 3; round += 1) {
      expect(await ask('slow.com')).toMatchObject(TIMEOUT);
      expect(await ask('acme.com')).toMatchObject({ kind: 'found' });
    }
  });

  it('has its whole time again after a pause longer than that', async () => {
    const { url } = await useSandbox();
    const { ask } = useClient(url, { timeoutMs: 40, connections: 2 });
    await Promise.all([ask('a.com'), ask('b.com')]);
    await new Promise((resolve) => setTimeout(resolve, 90));
    expect(await Promise.all([ask('a.com'), ask('b.com')])).toMatchObject([
      { kind: 'found' },
      { kind: 'found' },
    ]);
  });

  it('was refused where nobody listens', async () => {
    const { url, close } = await useSandbox();
    await close();
    expect(await useClient(url).ask()).toEqual({
      kind: 'try_again',
      httpStatus: undefined,
      reason: 'connection_refused',
      retryAfterMs: undefined,
    });
  });

  it('was reset before the headers', async () => {
    const { url } = await sandboxThatSays('reset');
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'try_again',
      reason: 'connection_reset',
    });
  });

  it('was closed without a word', async () => {
    const { url } = await useTcpServer((socket) => socket.end());
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'try_again',
      reason: 'connection_reset',
    });
  });

  it('went to a name that does not exist', async () => {
    const { ask } = useClient('http://nobody.invalid');
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'dns_failure' });
  });

  it('spoke TLS to a server that does not', async () => {
    const { port } = await useSandbox();
    const { ask } = useClient(`https://127.0.0.1:${port}`);
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'tls_failure' });
  });

  it('was answered in another protocol', async () => {
    const { url } = await useScriptedServer('220 mail.example.com ESMTP\r\n');
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'try_again',
      reason: 'network_error',
    });
  });
});

describe('giving up', () => {
  it.each([
    ['before the headers', 'HTTP/1.1'],
    ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'],
    [
      'within a packed body',
      'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\n',
    ],
  ])('ends a call at once and throws the reason (%s)', async (_, begin) => {
    const asked = createGate();
    const { url } = await useTcpServer((socket) => socket.write(begin, asked.open));
    const { ask } = useClient(url, { timeoutMs: 60_000 });
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const call = ask('acme.com', giveUp.signal);
    await asked.opened;
    await new Promise((resolve) => setTimeout(resolve, 20));
    giveUp.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('makes no call when it comes first', async () => {
    const sandbox = await useSandbox();
    const reason = new Error('enough');
    await expect(useClient(sandbox.url).ask('acme.com', AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
    expect(sandbox.stats().calls).toBe(0);
  });

  it('leaves no listener behind after an answer', async () => {
    const { url } = await useSandbox();
    const { ask } = useClient(url);
    const giveUp = new AbortController();
    await ask('a.com', giveUp.signal);
    giveUp.abort(new Error('too late'));
    expect(await ask('a.com')).toMatchObject({ kind: 'found' });
  });
});

describe('an answer that is not found', () => {
  it.each([
    [404, { kind: 'not_found', httpStatus: 404 }],
    [410, { kind: 'not_found', httpStatus: 410 }],
    [401, { kind: 'unauthorized', httpStatus: 401 }],
    [402, { kind: 'quota_used_up', httpStatus: 402 }],
    [429, { kind: 'throttled', httpStatus: 429, retryAfterMs: undefined }],
    [202, { kind: 'try_again', httpStatus: 202, reason: 'http_202', retryAfterMs: undefined }],
    [503, { kind: 'try_again', httpStatus: 503, reason: 'http_503', retryAfterMs: undefined }],
    [501, { kind: 'refused', httpStatus: 501, reason: 'http_501' }],
    [206, { kind: 'refused', httpStatus: 206, reason: 'http_206' }],
    [999, { kind: 'refused', httpStatus: 999, reason: 'http_999' }],
  ])('%i says so', async (status, answer) => {
    const { url } = await sandboxThatSays({ status, body: { error: 'x' } });
    expect(await useClient(url).ask()).toEqual(answer);
  });

  it('204 has no body and no answer', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 204 No Content\r\n\r\n');
    expect(await useClient(url).ask()).toEqual({
      kind: 'refused',
      httpStatus: 204,
      reason: 'http_204',
    });
  });

  it('304 without a place to go is no answer', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 304 Not Modified\r\n\r\n');
    expect(await useClient(url).ask()).toEqual({
      kind: 'refused',
      httpStatus: 304,
      reason: 'http_304',
    });
  });

  it.each([404, 429, 503])('%i counts even if its body never ends', async (status) => {
    const { url } = await useScriptedServer(`HTTP/1.1 ${status} X\r\ncontent-length: 9\r\n\r\nx`);
    expect(await useClient(url, { timeoutMs: 60 }).ask()).toMatchObject({ httpStatus: status });
  });

  it.each([
    ['seconds', '120', 120_000],
    ['a date', 'Fri, 20 Nov 2026 20:00:30 GMT', 31_000],
    ['garbage', 'soon', undefined],
    ['a negative number', '-1', undefined],
  ])('429 and 503 say how long to wait: %s', async (_, value, retryAfterMs) => {
    const headers = { 'retry-after': value, date: 'Fri, 20 Nov 2026 20:00:00 GMT' };
    const { url } = await useSandbox({
      respond: (domain) => ({ status: domain === 'busy.com' ? 503 : 429, headers }),
    });
    const { ask } = useClient(url);
    expect(await ask('acme.com')).toMatchObject({ kind: 'throttled', retryAfterMs });
    expect(await ask('busy.com')).toMatchObject({ kind: 'try_again', retryAfterMs });
  });
});

describe('the reason of a rejection', () => {
  async function reasonFor(body: string | Buffer, header = ''): Promise<unknown> {
    const bytes = Buffer.from(body);
    const head = `HTTP/1.1 400 X\r\ncontent-length: ${bytes.length}\r\n${header}\r\n`;
    const { url } = await useScriptedServer(Buffer.concat([Buffer.from(head), bytes]));
    return await useClient(url).ask();
  }

  it.each([400, 403, 405, 409, 418, 422, 451])('is what the body of %i says', async (status) => {
    const { url } = await sandboxThatSays({ status, body: '{"message":"no such thing"}' });
    expect(await useClient(url).ask()).toEqual({
      kind: status === 403 ? 'forbidden' : 'rejected',
      httpStatus: status,
      reason: '{"message":"no such thing"}',
    });
  });

  it('is the first 200 characters, none of them cut in half', async () => {
    expect(await reasonFor(`${'a'.repeat(199)}😀😀`)).toMatchObject({
      reason: `${'a'.repeat(199)}😀`,
    });
    expect(await reasonFor('食'.repeat(3_000))).toMatchObject({ reason: '食'.repeat(200) });
  });

  it('is on one line, with one space between words', async () => {
    expect(await reasonFor(' {\r\n\t"error":\n   "bad\u00a0 domain" }\n')).toMatchObject({
      reason: '{ "error": "bad domain" }',
    });
  });

  it('is the status when the body says nothing', async () => {
    expect(await reasonFor('')).toMatchObject({ reason: 'http_400' });
    expect(await reasonFor(' \r\n ')).toMatchObject({ reason: 'http_400' });
  });

  it('is unpacked like any body', async () => {
    expect(await reasonFor(gzipSync('no such domain'), 'content-encoding: gzip\r\n')).toMatchObject(
      {
        reason: 'no such domain',
      },
    );
    expect(await reasonFor('no such domain', 'content-encoding: gzip\r\n')).toMatchObject({
      reason: 'http_400',
    });
  });

  it('is what came before the body broke off or time was up', async () => {
    const answer = 'HTTP/1.1 400 X\r\ncontent-length: 100\r\n\r\nno such dom';
    const broken = await useTcpServer((socket) => socket.end(answer));
    const slow = await useScriptedServer(answer);
    const expected = { kind: 'rejected', httpStatus: 400, reason: 'no such dom' };
    expect(await useClient(broken.url).ask()).toEqual(expected);
    expect(await useClient(slow.url, { timeoutMs: 60 }).ask()).toEqual(expected);
  });

  it.each(['bearer', 'basic', 'header:x-key', 'query:key'])(
    'never shows the credential of %s',
    async (spec) => {
      const secret = 'user:s3cret/key+1';
      const credential = createCredential(parseAuth(spec), secret);
      const { url } = await useHttpServer((request, response) => {
        response.statusCode = 400;
        const { authorization, 'x-key': key } = request.headers;
        const said = [authorization, key, secret, encodeURIComponent(secret), btoa(secret)];
        response.end(JSON.stringify([request.url?.split('&')[1], ...said]));
      });
      const answer = await useClient(url, { credential }).ask();
      const shown = JSON.stringify(answer);
      expect(shown).toContain('[redacted]');
      for (const form of [secret, encodeURIComponent(secret), btoa(secret), 's3cret']) {
        expect(shown).not.toContain(form);
      }
    },
  );

  it('does not show half a credential at its end', async () => {
    const credential = createCredential({ kind: 'bearer' }, 'abcdefghij');
    const { url } = await sandboxThatSays({ status: 400, body: `${'x'.repeat(195)}abcdefghij` });
    expect(await useClient(url, { credential }).ask()).toMatchObject({
      reason: `${'x'.repeat(195)}[reda`,
    });
  });
});

describe('a redirect', () => {
  async function redirectTo(
    location: string,
    { basePath = '', status = 302 } = {},
  ): Promise<unknown> {
    const { url } = await sandboxThatSays({ status, headers: { location } });
    return await useClient(`${url}${basePath}`).ask('acme.com');
  }

  it.each([301, 302, 303, 307, 308])('of status %i leads to its place', async (status) => {
    expect(await redirectTo('/v2/brand?domain=acme.com', { status })).toEqual({
      kind: 'redirect',
      httpStatus: status,
      path: '/v2/brand?domain=acme.com',
    });
  });

  it.each([
    ['/v2/brand', '/v2/brand'],
    ['?domain=www.acme.com', '/api/v1/brand?domain=www.acme.com'],
    ['brand/acme.com', '/api/v1/brand/acme.com'],
    ['../v2/brand?a=b#part', '/api/v2/brand?a=b'],
  ])('to %s is read against what was asked', async (location, path) => {
    expect(await redirectTo(location, { basePath: '/api' })).toMatchObject({
      kind: 'redirect',
      path,
    });
  });

  it('to its own origin may be written out', async () => {
    const { url } = await useSandbox({
      respond: () => ({ status: 302, headers: { location: `${url}/v1/brand?domain=b.com` } }),
    });
    expect(await useClient(url).ask()).toMatchObject({ path: '/v1/brand?domain=b.com' });
  });

  it.each([
    ['another host', 'https://evil.example/v1/brand'],
    ['another host, without a scheme', '//evil.example/v1/brand'],
    ['another port', 'http://127.0.0.1:1/v1/brand'],
    ['another name of the host', 'http://localhost/v1/brand'],
    ['no web address', 'javascript:alert(1)'],
    ['a file', 'file:///etc/passwd'],
  ])('to %s is not followed', async (_, location) => {
    expect(await redirectTo(location)).toEqual({
      kind: 'refused',
      httpStatus: 302,
      reason: 'redirect_to_another_origin',
    });
  });

  it('to the same host with TLS is not followed', async () => {
    const { url } = await useSandbox({
      respond: () => ({ status: 301, headers: { location: url.replace('http:', 'https:') } }),
    });
    expect(await useClient(url).ask()).toMatchObject({ reason: 'redirect_to_another_origin' });
  });

  it('takes the credential nowhere else', async () => {
    const other = await useSandbox();
    const { url } = await sandboxThatSays({
      status: 307,
      headers: { location: `${other.url}/v1/brand?domain=acme.com` },
    });
    const credential = createCredential({ kind: 'bearer' }, 'secret');
    expect(await useClient(url, { credential }).ask()).toMatchObject({ kind: 'refused' });
    expect(other.stats().calls).toBe(0);
  });

  it.each([['http://'], ['http://[::']])('to %s leads nowhere', async (location) => {
    expect(await redirectTo(location)).toEqual({
      kind: 'refused',
      httpStatus: 302,
      reason: 'http_302',
    });
  });

  it('without a place leads nowhere', async () => {
    const { url } = await sandboxThatSays({ status: 302 });
    expect(await useClient(url).ask()).toEqual({
      kind: 'refused',
      httpStatus: 302,
      reason: 'http_302',
    });
  });
});

describe('what is sent', () => {
  interface Seen {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  }

  async function useEcho(): Promise<{ url: string; seen: Seen[] }> {
    const seen: Seen[] = [];
    const { url } = await useHttpServer((request, response) => {
      seen.push({ method: request.method, url: request.url, headers: request.headers });
      response.end('{}');
    });
    return { url, seen };
  }

  it('is a GET that asks for JSON, packed if the server likes', async () => {
    const { url, seen } = await useEcho();
    await useClient(url).ask();
    expect(seen).toEqual([
      {
        method: 'GET',
        url: '/v1/brand?domain=acme.com',
        headers: {
          host: new URL(url).host,
          connection: 'keep-alive',
          accept: 'application/json',
          'accept-encoding': 'gzip, br, deflate',
          'user-agent': 'brandfill',
        },
      },
    ]);
  });

  it('keeps the path of the base URL and encodes what goes into the query', async () => {
    const { url, seen } = await useEcho();
    const params = [
      ['lang', 'de & en'],
      ['a=b', 'ü?#'],
    ] as const;
    await useClient(`${url}/api/eu/`, { params }).ask('a&b=c.com');
    expect(seen[0]?.url).toBe(
      '/api/eu/v1/brand?domain=a%26b%3Dc.com&lang=de%20%26%20en&a%3Db=%C3%BC%3F%23',
    );
  });

  it.each([
    ['bearer', { authorization: 'Bearer user:key' }],
    ['basic', { authorization: `Basic ${btoa('user:key')}` }],
    ['header:X-Api-Key', { 'x-api-key': 'user:key' }],
  ])('carries the credential as %s wants it', async (spec, headers) => {
    const { url, seen } = await useEcho();
    await useClient(url, { credential: createCredential(parseAuth(spec), 'user:key') }).ask();
    expect(seen[0]).toMatchObject({ url: '/v1/brand?domain=acme.com', headers });
  });

  it('carries the credential in the query if that is wanted, and then in no header', async () => {
    const { url, seen } = await useEcho();
    const credential = createCredential(parseAuth('query:api_key'), 'k&y=1');
    await useClient(url, { credential, params: [['lang', 'de']] }).ask();
    expect(seen[0]?.url).toBe('/v1/brand?domain=acme.com&lang=de&api_key=k%26y%3D1');
    expect(JSON.stringify(seen[0]?.headers)).not.toContain('k&y');
  });

  it('carries extra headers; they replace ours but not the credential', async () => {
    const { url, seen } = await useEcho();
    const headers = [
      ['X-Tenant', 'ä 1'],
      ['User-Agent', 'nightly'],
      ['Accept', 'application/vnd.brand+json'],
      ['X-Api-Key', 'wrong'],
    ] as const;
    const credential = createCredential(parseAuth('header:x-api-key'), 'right');
    await useClient(url, { headers, credential }).ask();
    expect(seen[0]?.headers).toMatchObject({
      'x-tenant': 'ä 1',
      'user-agent': 'nightly',
      accept: 'application/vnd.brand+json',
      'x-api-key': 'right',
    });
  });
});

describe('connections', () => {
  it.each([
    [200, '{"a":1}'],
    [200, 'no JSON'],
    [302, 'x'.repeat(100)],
    [400, 'x'.repeat(4_000)],
    [403, 'x'.repeat(5_000)],
    [404, ''],
    [404, 'x'.repeat(60_000)],
    [429, 'x'.repeat(5_000)],
    [500, 'x'.repeat(60_000)],
  ])('are used again after an answer of %i', async (status, body) => {
    const server = await useHttpServer((_, response) => {
      response.statusCode = status;
      response.setHeader('location', '/elsewhere');
      response.setHeader('content-length', body.length);
      response.write(body.slice(0, body.length / 2));
      // Later, so that it cannot have come with the headers.
      setTimeout(() => response.end(body.slice(body.length / 2)), 5);
    });
    const { ask } = useClient(server.url);
    for (let call = 0; call < 4; call += 1) {
      expect(await ask()).toMatchObject({ httpStatus: status });
    }
    expect(server.connections()).toBe(1);
  });

  it('are given up rather than reading an error without end', async () => {
    const { url } = await useHttpServer((request, response) => {
      response.statusCode = request.url?.includes('bad') ? 400 : 500;
      const piece = Buffer.alloc(64 * 1024, 'x');
      const send = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', send);
      send();
    });
    const { ask } = useClient(url);
    expect(await ask('bad.com')).toMatchObject({ kind: 'rejected', reason: 'x'.repeat(200) });
    expect(await ask('acme.com')).toMatchObject({ kind: 'try_again', reason: 'http_500' });
  });

  it('are given up rather than waiting for the end of a packed error', async () => {
    const { url } = await useHttpServer((_, response) => {
      response.writeHead(400, { 'content-encoding': 'gzip' });
      response.write(gzipSync('x'.repeat(10_000)));
    });
    const { ask } = useClient(url, { timeoutMs: 1_000 });
    const startMs = performance.now();
    for (let call = 0; call < 3; call += 1) {
      expect(await ask()).toMatchObject({ kind: 'rejected', reason: 'x'.repeat(200) });
    }
    expect(performance.now() - startMs).toBeLessThan(900);
  });

  it('are as many as allowed and no more', async () => {
    const server = await useHttpServer((_, response) => {
      setTimeout(() => response.end('{}'), 20);
    });
    const { ask } = useClient(server.url, { connections: 3 });
    await Promise.all(Array.from({ length: 9 }, () => ask()));
    expect(server.connections()).toBe(3);
  });

  it('are closed with the client', async () => {
    const closed = createGate();
    const { url } = await useTcpServer((socket) => {
      socket.on('close', closed.open);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
    const { client, ask } = useClient(url);
    await ask();
    await client.close();
    await closed.opened;
  });

  it('go through the proxy that the environment names', async () => {
    const asked: string[] = [];
    const proxy = await useTcpServer((socket, request) => {
      asked.push(request.split('\r\n')[0] ?? '');
      socket.write(
        request.startsWith('CONNECT')
          ? 'HTTP/1.1 200 Connected\r\n\r\n'
          : 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
      );
    });
    const { ask } = useClient('http://brand.invalid', { proxies: { http_proxy: proxy.url } });
    expect(await ask()).toMatchObject({ kind: 'found' });
    expect(asked[0]).toContain('brand.invalid');
  });

  it.each(['proxy.example:3128', '127.0.0.1:3128', 'none'])(
    'cannot go through a proxy called %s, and a sentence says so',
    (http_proxy) => {
      expect(() => useClient('http://h.example', { proxies: { http_proxy } })).toThrow(
        expect.objectContaining({
          code: 'INVALID_SETTING',
          message: expect.stringContaining('proxy') as string,
        }),
      );
    },
  );
});
