import { getEventListeners, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
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

  it('leaves its connection fit for use after a timeout of another', async () => {
    const { url } = await useSandbox({
      respond: (domain) => (domain === 'slow.com' ? 'hang' : undefined),
    });
    const { ask } = useClient(url, { timeoutMs: 500 });
    for (let round = 0; round < 2; round += 1) {
      expect(await ask('slow.com')).toMatchObject(TIMEOUT);
      expect(await ask('acme.com')).toMatchObject({ kind: 'found' });
    }
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

  it('was refused where nobody listens', async () => {
    const { url, close } = await useSandbox();
    await close();
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'try_again',
      httpStatus: undefined,
      reason: 'connection_refused',
    });
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
    [
      'was answered in another protocol',
      'invalid_http',
      async () => (await useScriptedServer('220 mail.example.com ESMTP\r\n')).url,
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

/** A call with a time limit of 120 ms ends when that is over, and not much later. */
async function expectEndOnTime(url: string): Promise<void> {
  const { ask } = useClient(url, { timeoutMs: 120 });
  const startMs = performance.now();
  expect(await ask()).toMatchObject(TIMEOUT);
  const tookMs = performance.now() - startMs;
  expect(tookMs).toBeGreaterThan(118);
  expect(tookMs).toBeLessThan(2_000);
}
