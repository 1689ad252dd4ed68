import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClosedConnectionError } from '../../src/brand/transport.ts';
import { openApi } from '../integration/support/api.ts';
import { createGate } from '../support/gate.ts';
import { UNKNOWN_HOST, useHttpServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

const TIMEOUT = { kind: 'away', httpStatus: undefined, reason: 'timeout' };
const JSON_BODY = '{"name":"Acme"}';
const FOUND = { kind: 'found', httpStatus: 200, json: JSON_BODY };
const OK = `HTTP/1.1 200 OK\r\nContent-Length: ${JSON_BODY.length}\r\n\r\n${JSON_BODY}`;

/** Answers 200 with these bytes and headers. */
async function serve(bytes: Buffer | string, headers: Readonly<Record<string, string>> = {}) {
  return await useHttpServer((_, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(bytes);
  });
}

describe('a body', () => {
  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('is unpacked: %s', async (coding, pack) => {
    const { url } = await serve(pack(JSON_BODY), { 'content-encoding': coding });
    expect(await useClient(url).ask()).toMatchObject(FOUND);
  });

  it.each([
    ['ISO-8859-1', 'latin1', 'Zoë'],
    ['windows-1252', 'windows-1252', 'Zoë €'],
    ['utf-16le', 'utf-16le', 'Zoë €'],
    ['Shift_JIS', 'shift_jis', '食'],
    ['iso-8859-1', 'utf8', 'Zoë \uFFFD'],
  ])('is read in its charset: %s, in fact %s', async (charset, encoding, name) => {
    const json = JSON.stringify({ name });
    const type = `application/json; charset="${charset}"`;
    const { url } = await serve(iconv.encode(json, encoding), { 'content-type': type });
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it('in an encoding that is not known says so', async () => {
    const { url } = await serve(JSON_BODY, { 'content-encoding': 'lzw' });
    const meaning = await useClient(url).ask();
    expect(meaning).toMatchObject({ kind: 'failed', reason: 'unknown_content_encoding' });
  });

  it.each([
    ['plain', (text: string) => text, {}],
    ['packed', gzipSync, { 'content-encoding': 'gzip' }],
  ])('is read as far as it may be long, %s', async (_, pack, headers) => {
    const json = JSON.stringify({ name: 'x'.repeat(5_000) });
    const { url } = await serve(pack(json), headers);
    const short = await useClient(url, { maxBodyBytes: json.length - 1 }).ask();
    expect(short).toMatchObject({ kind: 'failed', reason: 'response_too_large' });
    expect(await useClient(url, { maxBodyBytes: json.length }).ask()).toMatchObject({ json });
  });

  it.each([
    ['breaks off', 'content-length: 100\r\n\r\n{"name":'],
    ['is not packed as it says', 'content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}'],
  ])('that %s is told as that', async (_, rest) => {
    const { url } = await useTcpServer((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'away', reason: 'invalid_response' });
  });

  it('of an error without end is given up', async () => {
    const { url } = await useHttpServer((_, response) => {
      response.statusCode = 400;
      const piece = Buffer.alloc(64 * 1024, 'x');
      const send = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', send);
      send();
    });
    const meaning = await useClient(url).ask();
    expect(meaning).toMatchObject({ kind: 'rejected', said: 'x'.repeat(200) });
  });
});

describe('a connection', () => {
  it.each([
    [200, JSON_BODY],
    [302, 'x'.repeat(100)],
    [404, ''],
    [429, 'x'.repeat(5_000)],
    [429, 'x'.repeat(60_000)],
  ])('is used again after an answer of %i', async (status, body) => {
    const server = await useHttpServer((_, response) => {
      response.writeHead(status, { location: '/elsewhere' }).end(body);
    });
    const { ask } = useClient(server.url);
    for (let call = 0; call < 4; call += 1) {
      expect(await ask(`${call}.example`)).toMatchObject({ httpStatus: status });
    }
    expect(server.connections()).toBe(1);
  });

  it.each([401, 403, 500, 503])(
    'is left after %i, which one machine may answer',
    async (status) => {
      const server = await useHttpServer((_, response) => {
        response.writeHead(status).end(JSON_BODY);
      });
      const { ask } = useClient(server.url);
      for (let call = 0; call < 3; call += 1) await ask(`${call}.example`);
      expect(server.connections()).toBe(3);
      // Over another one it comes again: it is no machine's.
      await ask('0.example');
      for (let call = 3; call < 6; call += 1) await ask(`${call}.example`);
      expect(server.connections()).toBe(5);
    },
  );

  it.each([
    { status: 200, connections: 1 },
    { status: 429, connections: 1 },
    { status: 302, connections: 4 },
    { status: 403, connections: 4 },
    { status: 503, connections: 4 },
  ])(
    'is of its own for a call that is made again after $status: $connections in four calls',
    async ({ status, connections }) => {
      const server = await useHttpServer((_, response) => {
        response.writeHead(status, { location: '/elsewhere' }).end(JSON_BODY);
      });
      const { ask } = useClient(server.url);
      for (let call = 0; call < 4; call += 1) await ask();
      expect(server.connections()).toBe(connections);
    },
  );

  it('of its own can be asked for', async () => {
    const server = await useHttpServer((_, response) => {
      response.end(JSON_BODY);
    });
    const { client } = useClient(server.url);
    for (const isApart of [false, false, true, true]) {
      await client.call('/', new AbortController().signal, 'acme.com', isApart);
    }
    expect(server.connections()).toBe(3);
  });

  /** Answers so many requests on each connection, and resets it at the next. */
  async function useResettingServer(answers: number) {
    let requests = 0;
    const answered = new WeakMap<object, number>();
    const server = await useTcpServer((socket) => {
      requests += 1;
      const count = answered.get(socket) ?? 0;
      answered.set(socket, count + 1);
      if (count < answers) socket.write(OK);
      else socket.resetAndDestroy();
    });
    return { ...server, requests: () => requests };
  }

  it('that is reset whenever it is used again is not used again after a few of them', async () => {
    const server = await useResettingServer(1);
    const { ask } = useClient(server.url, { connections: 4 });
    for (let call = 0; call < 50; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(server.requests()).toBeLessThan(58);
  });

  it('that is reset is replaced for the call that it was reset by, whatever is called meanwhile', async () => {
    const { url } = await useHttpServer((request, response) => {
      if (request.url?.includes('bad.com')) request.socket.destroy();
      else response.end(JSON.stringify({ name: 'Acme' }));
    });
    const { ask, client } = useClient(url, { connections: 2 });
    const callBad = () =>
      client.call('/v1/brand?domain=bad.com', new AbortController().signal, 'bad.com');
    await ask();
    await expect(callBad()).rejects.toThrow(ClosedConnectionError);
    await ask();
    expect(await callBad()).toMatchObject({ kind: 'away', reason: 'connection_reset' });
  });

  it('that is reset at once is a failure', async () => {
    const server = await useResettingServer(0);
    const meaning = await useClient(server.url).ask();
    expect(meaning).toMatchObject({ kind: 'away', reason: 'connection_reset' });
    expect(server.requests()).toBe(1);
  });

  it.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}  '],
    ['HTTP/2 alone', Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100])],
  ])('that brings %s says so', async (_, answer) => {
    const { url } = await useTcpServer((socket) => socket.write(answer));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'away', reason: 'invalid_http' });
  });

  it('to a name that does not exist, and with TLS to a server that has none, says so', async () => {
    const nowhere = await useClient(`http://${UNKNOWN_HOST}`).ask();
    expect(nowhere).toMatchObject({ kind: 'away', reason: 'dns_failure' });
    const plain = await useClient(`https://127.0.0.1:${(await openApi()).port}`).ask();
    expect(plain).toMatchObject({ kind: 'away', reason: 'tls_failure' });
  });
});

const ANSWER_AFTER_A_WHILE = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:http').createServer((request, response) => {
    parentPort.postMessage('called');
    setTimeout(() => response.end('{"name":"Acme"}'), 50);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

describe('the time of a call', () => {
  it.each([
    ['before the headers', ''],
    ['within the headers', 'HTTP/1.1'],
    ['within a body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a":'],
    [
      'within a packed one',
      'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n',
    ],
  ])('ends %s', async (_, begin) => {
    const { url } = await useTcpServer((socket) => begin !== '' && socket.write(begin));
    const { ask } = useClient(url, { timeoutMs: 120 });
    expect(await ask()).toMatchObject(TIMEOUT);
  });

  it('is not lengthened by a trickle of bytes', async () => {
    const { url } = await useHttpServer((_, response) => {
      response.write('{');
      const trickle = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(trickle));
    });
    expect(await useClient(url, { timeoutMs: 120 }).ask()).toMatchObject(TIMEOUT);
  });

  it('is not over before answers were read that came while the process was frozen', async () => {
    // In a thread, which answers while this one stands still.
    const server = new Worker(ANSWER_AFTER_A_WHILE, { eval: true });
    onTestFinished(() => void server.terminate());
    const [port] = (await once(server, 'message')) as [number];
    const { ask } = useClient(`http://127.0.0.1:${port}`, { timeoutMs: 300 });
    const answer = ask();
    await once(server, 'message'); // it has the call
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    expect(await answer).toMatchObject({ kind: 'found' });
  });
});

describe('giving up', () => {
  it.each([
    ['before the headers', 'HTTP/1.1'],
    ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'],
  ])('ends a call at once and throws the reason (%s)', async (_, begin) => {
    const asked = createGate();
    const { url } = await useTcpServer((socket) => socket.write(begin, asked.open));
    const { ask } = useClient(url, { timeoutMs: 60_000 });
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const call = ask('acme.com', giveUp.signal);
    await asked.opened;
    giveUp.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('makes no call when it comes first, and changes nothing when it comes last', async () => {
    const sandbox = await openApi();
    const { ask } = useClient(sandbox.url);
    const reason = new Error('enough');
    await expect(ask('acme.com', AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(sandbox.stats().calls).toBe(0);
    const giveUp = new AbortController();
    await ask('a.com', giveUp.signal);
    giveUp.abort(reason);
    expect(await ask('a.com')).toMatchObject({ kind: 'found' });
  });
});
