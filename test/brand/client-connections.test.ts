import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createGate } from '../support/gate.ts';
import { useHttpServer, useTcpServer } from '../support/servers.ts';
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
