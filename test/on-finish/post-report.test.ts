import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { postReport } from '../../src/commands/on-finish.ts';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { type TestServer, useHttpServer, useTcpServer } from '../support/servers.ts';

const QUICK = { backoffMs: 1 };

/** A server that answers with one status after the other, the last one for ever. */
async function answering(
  ...statuses: readonly number[]
): Promise<TestServer & { calls(): number }> {
  let calls = 0;
  const server = await useHttpServer((_, response) => {
    response.writeHead(statuses[Math.min(calls, statuses.length - 1)] ?? 200).end('no');
    calls += 1;
  });
  return { ...server, calls: () => calls };
}

function useProxy(url: string): void {
  vi.stubEnv('http_proxy', url);
  vi.stubEnv('no_proxy', '');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

describe('postReport', () => {
  it('posts JSON', async () => {
    let seen: unknown;
    const server = await useHttpServer((request, response) => {
      void text(request).then((body) => {
        seen = { method: request.method, type: request.headers['content-type'], body };
        response.writeHead(204).end();
      });
    });
    await postReport(`${server.url}/hook`, '{"rows":1}', QUICK);
    expect(seen).toEqual({ method: 'POST', type: 'application/json', body: '{"rows":1}' });
  });

  it.each([500, 503, 429, 408])('tries again after %d', async (status) => {
    const server = await answering(status, status, 200);
    await postReport(server.url, '{}', QUICK);
    expect(server.calls()).toBe(3);
  });

  it('gives up after four tries', async () => {
    const server = await answering(503);
    await expect(postReport(`${server.url}/s3cret`, '{}', QUICK)).rejects.toThrow(
      /^it answered 503 \(tried 4 times\)$/,
    );
    expect(server.calls()).toBe(4);
  });

  it.each([
    [404, 'it answered 404 (tried once)'],
    [301, 'it answered 301, a redirect; give the address that it leads to (tried once)'],
  ])('does not try again after %d', async (status, message) => {
    const server = await answering(status);
    await expect(postReport(server.url, '{}', QUICK)).rejects.toThrow(message);
    expect(server.calls()).toBe(1);
  });

  it('goes through the proxy that the environment names', async () => {
    const server = await answering(200);
    const proxy = await useConnectProxy();
    useProxy(proxy.url);
    await postReport(server.url, '{}', QUICK);
    expect(server.calls()).toBe(1);
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`]);
  });

  it('asks a proxy that says nothing once for each try, and tells of it', async () => {
    const proxy = await useTcpServer((socket) => socket.end());
    useProxy(proxy.url);
    await expect(
      postReport('http://hooks.invalid', '{}', { ...QUICK, timeoutMs: 1_000 }),
    ).rejects.toThrow('proxy connection reset (tried 4 times)');
    expect(proxy.connections()).toBe(4);
  });

  it('gives up a server that never answers', async () => {
    let asked = 0;
    const server = await useTcpServer(() => {
      asked += 1;
    });
    const posting = postReport(server.url, '{}', { ...QUICK, timeoutMs: 20 });
    await expect(posting).rejects.toThrow('timeout (tried 4 times)');
    expect(asked).toBeLessThanOrEqual(4);
  });

  it('gives up where nobody listens', async () => {
    const { createServer } = await import('node:net');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    await expect(postReport(`http://127.0.0.1:${port}/`, '{}', QUICK)).rejects.toThrow(
      'connection refused (tried 4 times)',
    );
  });
});
