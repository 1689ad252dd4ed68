import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

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
    const { ask } = useClient(url, { timeoutMs: 60_000 });
    const startMs = performance.now();
    for (let call = 0; call < 3; call += 1) {
      expect(await ask()).toMatchObject({ kind: 'rejected', reason: 'x'.repeat(200) });
    }
    expect(performance.now() - startMs).toBeLessThan(50_000);
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
});

const JSON_BODY = '{"name":"Acme"}';
const LENGTH = JSON_BODY.length;
const CHUNKED = `${LENGTH.toString(16)}\r\n${JSON_BODY}\r\n0\r\n\r\n`;
const OK = `HTTP/1.1 200 OK\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`;
const FOUND = { kind: 'found', httpStatus: 200, json: JSON_BODY };

describe('an answer that is no strict HTTP', () => {
  it.each([
    [
      'has a Content-Length beside its Transfer-Encoding',
      `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    ],
    [
      'has a header name with spaces',
      `HTTP/1.1 200 OK\r\nX Powered By: ASP\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has a line without a colon',
      `HTTP/1.1 200 OK\r\nno field\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has lines that end in a line feed',
      `HTTP/1.1 200 OK\nContent-Length: ${LENGTH}\n\n${JSON_BODY}`,
    ],
    ['comes after a 100 that nobody asked for', `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    [
      'states its length twice',
      `HTTP/1.1 200 OK\r\nContent-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has a control character in a field',
      `HTTP/1.1 200 OK\r\nX-A: a\x01\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has spaces after the size of a chunk',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${LENGTH.toString(16)}  \r\n${CHUNKED.slice(3)}`,
    ],
  ])('is read when it %s', async (_, answer) => {
    const { url } = await useScriptedServer(answer);
    const { ask } = useClient(url);
    for (let call = 0; call < 3; call += 1) expect(await ask()).toMatchObject(FOUND);
  });

  it('is read to the end of the connection when it states no length', async () => {
    const { url } = await useTcpServer((socket) =>
      socket.end(`HTTP/1.1 200 OK\nX Y: z\n\n${JSON_BODY}`),
    );
    expect(await useClient(url).ask()).toMatchObject(FOUND);
  });

  it('costs one more request once, and then one for each call', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    });
    const { ask } = useClient(url);
    for (let call = 0; call < 5; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(requests).toBe(6);
  });

  it('sends the same headers again', async () => {
    const heads: string[] = [];
    const { url, port } = await useTcpServer((socket, head) => {
      heads.push(head);
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    });
    await useClient(url, { headers: [['x-team', 'crm']] }).ask();
    const [first = '', second = ''] = heads.map((head) =>
      head.replace(/connection: .*\r\n/, '').toLowerCase(),
    );
    expect(second).toBe(first);
    expect(second).toContain(`host: 127.0.0.1:${port}`);
    expect(second).toContain('x-team: crm');
  });

  it.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n', 'invalid_http'],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}  ',
      'invalid_http',
    ],
    ['HTTP/2 alone', Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]), 'http2_only'],
  ])('has a reason of its own when it is %s', async (_, answer, reason) => {
    const { url } = await useScriptedServer(answer);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason });
  });

  it('that is cut off is told as that', async () => {
    const { url } = await useTcpServer((socket) =>
      socket.end('HTTP/1.1 200 OK\nX Y: z\nContent-Length: 100\n\n{"name":'),
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'invalid_response' });
  });

  it('ends on time', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 200 OK\nX Y: z\nContent-Length: 100\n\n{');
    expect(await useClient(url, { timeoutMs: 150 }).ask()).toMatchObject({ reason: 'timeout' });
  });
});

describe('a connection that had been used and is reset before an answer', () => {
  /** Answers so many requests on each connection, and resets it at the next. */
  async function useResettingServer(answers: number): Promise<{
    readonly url: string;
    requests(): number;
    connections(): number;
  }> {
    let requests = 0;
    const answered = new WeakMap<object, number>();
    const server = await useTcpServer((socket) => {
      requests += 1;
      const count = answered.get(socket) ?? 0;
      answered.set(socket, count + 1);
      if (count < answers) socket.write(OK);
      else socket.resetAndDestroy();
    });
    return { url: server.url, requests: () => requests, connections: server.connections };
  }

  it('is not used again after a few of them', async () => {
    const server = await useResettingServer(1);
    const { ask } = useClient(server.url, { connections: 4 });
    for (let call = 0; call < 50; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(server.requests()).toBeLessThan(58);
    expect(server.connections()).toBeGreaterThanOrEqual(45);
  });

  it('is a matter of course when it answered many calls before', async () => {
    const server = await useResettingServer(10);
    const { ask } = useClient(server.url);
    for (let call = 0; call < 100; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(server.connections()).toBeLessThan(25);
  });

  it('is a failure when it is a fresh one', async () => {
    const server = await useResettingServer(0);
    const { ask } = useClient(server.url);
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'connection_reset' });
    expect(server.requests()).toBe(1);
  });

  it('is a failure when a part of the answer had come', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      if (requests === 1) socket.write(OK);
      else socket.write('HTTP/1.1 200', () => socket.resetAndDestroy());
    });
    const { ask } = useClient(url);
    expect(await ask()).toMatchObject(FOUND);
    expect(await ask()).toMatchObject({ reason: 'connection_reset' });
    expect(requests).toBe(2);
  });

  it('is closed in order by some, which is the same', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      if (requests % 2 === 1) socket.write(OK);
      else socket.end();
    });
    const { ask } = useClient(url);
    expect(await ask()).toMatchObject(FOUND);
    expect(await ask()).toMatchObject(FOUND);
    expect(requests).toBe(3);
  });

  it('has one deadline with the second request', async () => {
    let requests = 0;
    const { url } = await useHttpServer((request, response) => {
      requests += 1;
      if (requests === 1) response.end(JSON_BODY);
      else if (requests === 2) setTimeout(() => request.socket.resetAndDestroy(), 1_000);
    });
    const { ask } = useClient(url, { timeoutMs: 1_500 });
    expect(await ask()).toMatchObject(FOUND);
    const startMs = performance.now();
    expect(await ask()).toMatchObject({ reason: 'timeout' });
    expect(performance.now() - startMs).toBeLessThan(2_500); // when that of its own would be over
    expect(requests).toBe(3);
  });
});

let folder: string;
let identity: Pick<TlsOptions, 'key' | 'cert'>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'brandfill-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const output = ['-nodes', '-days', '2', '-keyout', key, '-out', cert, '-subj', '/CN=localhost'];
  execFileSync('openssl', [...request, ...output], { stdio: 'ignore' });
  identity = { key: readFileSync(key), cert: readFileSync(cert) };
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('an API over TLS', () => {
  it('that speaks HTTP/2 only has a reason of its own', async () => {
    const url = await listen(createSecureServer({ ...identity, allowHTTP1: false }));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason: 'http2_only' });
  });

  it('whose TLS is too old has a reason of its own', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    const url = await listen(createTlsServer({ ...identity, ...old }));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason: 'tls_too_old' });
  });

  it.each([
    ['TLSv1.2', 'tls_refused'], // the alert names nothing
    ['TLSv1.3', 'client_certificate_required'],
  ] as const)(
    'that wants a client certificate has a reason of its own, with %s',
    async (minVersion, reason) => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      const own = { ca: identity.cert, requestCert: true, rejectUnauthorized: true };
      const url = await listen(
        createTlsServer({ ...identity, ...own, minVersion, maxVersion: minVersion }),
      );
      expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason });
    },
  );

  it('is read leniently, too', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const url = await listen(
      createTlsServer(identity, (socket) => {
        socket.on('error', () => {});
        socket.on('data', () => socket.write(`HTTP/1.1 200 OK\nX Y: z\n\n${JSON_BODY}`));
        socket.on('data', () => socket.end());
      }),
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: JSON_BODY });
  });
});

async function listen(server: Server): Promise<string> {
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
