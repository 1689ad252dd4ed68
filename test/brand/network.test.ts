import { getEventListeners, once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ProxyError } from '../../src/brand/connections.ts';
import { createDeadlines } from '../../src/brand/exchange.ts';
import {
  aboutOf,
  classifyNetworkError,
  describeNetworkError,
} from '../../src/brand/network-error.ts';
import { createGate } from '../support/gate.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

const TIMEOUT = { kind: 'try_again', httpStatus: undefined, reason: 'timeout' };

const ANSWER_AFTER_A_WHILE = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:http').createServer((request, response) => {
    parentPort.postMessage('called');
    setTimeout(() => response.end('{"name":"Acme"}'), 50);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

describe('a call that got no answer', () => {
  it('that takes too long before the headers ends on time', async () => {
    const { url } = await sandboxThatSays('hang');
    await expectEndOnTime(url);
  });

  it.each([
    ['plain', 'content-length: 100\r\n\r\n{"a":'],
    ['chunked', 'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'],
    ['gzip', 'content-encoding: gzip\r\ncontent-length: 100\r\n\r\n\x1f\x8b\x08'],
  ])('that stops within the body ends on time (%s)', async (_, rest) => {
    const { url } = await useScriptedServer(Buffer.from(`HTTP/1.1 200 OK\r\n${rest}`, 'latin1'));
    await expectEndOnTime(url);
  });

  it('cannot be kept alive by a trickle of bytes', async () => {
    const { url } = await useHttpServer((_, response) => {
      response.write('{');
      const trickle = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(trickle));
    });
    expect(await useClient(url, { timeoutMs: 120 }).ask()).toMatchObject(TIMEOUT);
  });

  it('is answered after all when the process was frozen meanwhile', async () => {
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

  it('has its whole time again after a pause longer than that', async () => {
    const { url } = await useSandbox();
    const { ask } = useClient(url, { timeoutMs: 500, connections: 2 });
    await Promise.all([ask('a.com'), ask('b.com')]);
    await new Promise((resolve) => setTimeout(resolve, 550));
    expect(await Promise.all([ask('a.com'), ask('b.com')])).toMatchObject([
      { kind: 'found' },
      { kind: 'found' },
    ]);
  });

  it.each<[string, string, () => Promise<string>]>([
    [
      'was reset before the headers',
      'connection_reset',
      async () => (await sandboxThatSays('reset')).url,
    ],
    [
      'was closed without a word',
      'connection_reset',
      async () => (await useTcpServer((socket) => socket.end())).url,
    ],
    ['went to a name that does not exist', 'dns_failure', async () => 'http://nobody.invalid'],
    [
      'spoke TLS to a server that does not',
      'tls_failure',
      async () => `https://127.0.0.1:${(await useSandbox()).port}`,
    ],
  ])('%s', async (_, reason, open) => {
    const { ask } = useClient(await open());
    expect(await ask()).toMatchObject({ kind: 'try_again', reason });
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
    const signal = AbortSignal.abort(reason);
    await expect(useClient(sandbox.url).ask('acme.com', signal)).rejects.toBe(reason);
    expect(sandbox.stats().calls).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]); // which would never be called
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

/** A call with a time limit of 120 ms ends when that is over, and not when the other side likes. */
async function expectEndOnTime(url: string): Promise<void> {
  const { ask } = useClient(url, { timeoutMs: 120 });
  const startMs = performance.now();
  expect(await ask()).toMatchObject(TIMEOUT);
  const tookMs = performance.now() - startMs;
  expect(tookMs).toBeGreaterThan(118);
  expect(tookMs).toBeLessThan(10_000);
}

function errorOf(code: string): Error {
  return Object.assign(new Error('failed'), { code });
}

describe('describeNetworkError', () => {
  it.each([
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'connection_reset'],
    ['EPIPE', 'connection_reset'],
    ['UND_ERR_SOCKET', 'connection_reset'],
    ['ENOTFOUND', 'dns_failure'],
    ['EAI_AGAIN', 'dns_unavailable'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['EMFILE', 'too_many_open_files'],
    ['ENFILE', 'too_many_open_files'],
    ['EADDRNOTAVAIL', 'no_local_port'],
    ['ENOBUFS', 'no_local_port'],
    ['CERT_HAS_EXPIRED', 'tls_failure'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_failure'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_failure'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_failure'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_failure'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failure'],
    ['EHOSTUNREACH', 'no_route'],
    ['ENETUNREACH', 'no_route'],
    ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'http2_only'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'tls_too_old'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'tls_too_old'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client_certificate_required'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls_refused'],
    ['HPE_INVALID_CONSTANT', 'network_error'],
  ])('calls %s %s', (code, reason) => {
    expect(describeNetworkError(errorOf(code))).toBe(reason);
  });

  it('reads the reason of OpenSSL out of the message of EPROTO', () => {
    const message =
      'write EPROTO 40:error:0A00042E:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:rec_layer_s3.c:1605:';
    const error = Object.assign(new Error(message), { code: 'EPROTO' });
    expect(describeNetworkError(error)).toBe('tls_too_old');
  });

  it('passes over an address family without a route', () => {
    const errors = [errorOf('ENETUNREACH'), errorOf('ECONNREFUSED')];
    const error = Object.assign(new AggregateError(errors), { code: 'ENETUNREACH' });
    expect(describeNetworkError(error)).toBe('connection_refused');
  });

  it.each([
    [errorOf('ECONNREFUSED'), 'api'],
    [errorOf('EMFILE'), 'machine'],
    [errorOf('ENETUNREACH'), 'machine'],
    [errorOf('EAI_AGAIN'), 'machine'],
    [errorOf('ENOTFOUND'), 'address'],
    [errorOf('CERT_HAS_EXPIRED'), 'address'],
    [new ProxyError(undefined, { cause: errorOf('ECONNREFUSED') }), 'machine'],
    [new ProxyError(502), 'machine'],
    [new ProxyError(407), 'address'],
    [new ProxyError(undefined, { cause: errorOf('ENOTFOUND') }), 'address'],
  ])('tells what an error is about: %s', (error, about) => {
    expect(classifyNetworkError(error).about).toBe(about);
  });

  it('takes a reason that is not of the network to be about the API', () => {
    expect([aboutOf('http_503'), aboutOf('toString')]).toEqual(['api', 'api']);
  });

  it('looks at the cause, and at the first of several errors', () => {
    const cause = errorOf('ENOTFOUND');
    expect(describeNetworkError(new Error('failed', { cause }))).toBe('dns_failure');
    expect(describeNetworkError(new AggregateError([cause, errorOf('EPIPE')]))).toBe('dns_failure');
  });

  it('blames a proxy for what went wrong there, but not for want of room here', () => {
    const describe = (cause: Error) => describeNetworkError(new ProxyError(undefined, { cause }));
    expect(describeNetworkError(new ProxyError(407))).toBe('proxy_407');
    expect(describe(errorOf('ECONNREFUSED'))).toBe('proxy_connection_refused');
    expect(describe(errorOf('EMFILE'))).toBe('too_many_open_files');
  });

  it.each([undefined, null, 'ECONNREFUSED', new Error('failed'), { code: 'ECONNREFUSED' }])(
    'has a word for what says nothing: %s',
    (error) => {
      expect(describeNetworkError(error)).toBe('network_error');
    },
  );
});

/** What is due is over only when connections were read. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await immediate();
}

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('fires with its parent, also when that fired before', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController();
    const [one, two] = [deadlines.start(parent.signal), deadlines.start(parent.signal)];
    const other = deadlines.start(new AbortController().signal);
    parent.abort();
    expect([one, two, other].map(({ isOver }) => isOver)).toEqual([true, true, false]);
    expect(deadlines.start(parent.signal).isOver).toBe(true);
  });

  it('neither fires with time nor with the parent of an earlier one', async () => {
    const deadlines = createDeadlines(1_000);
    const earlier = new AbortController();
    deadlines.start(earlier.signal).clear();
    await pass(600);
    const deadline = deadlines.start(new AbortController().signal);
    earlier.abort();
    await pass(999);
    expect(deadline.isOver).toBe(false);
    await pass(1);
    expect(deadline.isOver).toBe(true);
  });

  it('is not over when the work was done after all before connections were read', async () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const done = deadlines.start(parent);
    vi.advanceTimersByTime(1_000);
    done.clear();
    const next = deadlines.start(parent);
    await pass(999);
    expect([done.isOver, next.isOver]).toEqual([false, false]);
  });

  it('tells whoever works under it, once, and nobody else', async () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController();
    const told: string[] = [];
    const ended = deadlines.start(parent.signal);
    ended.onOver = () => told.push('ended');
    ended.clear();
    for (const name of ['one', 'two']) {
      deadlines.start(parent.signal).onOver = () => told.push(name);
    }
    parent.abort();
    await pass(1_000);
    expect(told).toEqual(['one', 'two']);
  });

  it('listens to a parent once, however many calls it has', () => {
    const parent = new AbortController().signal;
    const listen = vi.spyOn(parent, 'addEventListener');
    const deadlines = createDeadlines(1_000);
    for (let call = 0; call < 20; call += 1) deadlines.start(parent).clear();
    expect(listen).toHaveBeenCalledTimes(1);
  });
});
