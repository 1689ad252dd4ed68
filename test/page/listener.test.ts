import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseAllowedHost } from '../../src/common/addresses.ts';
import {
  createHealth,
  createHostCheck,
  isFromOurPage,
  isKnownHost,
  openListener,
  type Routes,
} from '../../src/page/listener.ts';

async function open(...routes: readonly Routes[]): Promise<string> {
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes });
  onTestFinished(() => listener.close());
  return listener.url;
}

it('answers with the first route that fits, says nothing of a failure, and has its headers on all', async () => {
  const url = await open(
    (app) => app.get('/a', (context) => context.text('one')),
    (app) => app.get('/a', (context) => context.text('two')),
    (app) =>
      app.get('/c', () => {
        throw new Error('s3cret');
      }),
  );
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  expect(await (await fetch(`${url}/a`)).text()).toBe('one');
  const failed = await fetch(`${url}/c`);
  expect([failed.status, await failed.text()]).toEqual([500, 'Something went wrong here.\n']);
  for (const [path, host, status] of [
    ['/b', 'localhost', 404],
    ['/a', 'not a host', 400],
  ] as const) {
    const refused = request(`${url}${path}`, { headers: { host } }).end();
    const [answer] = (await once(refused, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  }
});

it('sends what was said last before it closes', async () => {
  let end = (): void => {};
  const stream = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('first, '));
      end = () => {
        controller.enqueue(new TextEncoder().encode('last'));
        controller.close();
      };
    },
  });
  const routes: Routes[] = [(app) => app.get('/a', () => new Response(stream))];
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes });
  const answer = await fetch(`${listener.url}/a`);
  end();
  await listener.close();
  expect(await answer.text()).toBe('first, last');
});

it('says in a sentence when the port is taken, or the address is not there', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  await expect(openListener({ host: '127.0.0.1', port, routes: [] })).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${port}: another program has that port; give option 'listen' another, or port 0 for any that is free.`,
  );
  await expect(openListener({ host: '203.0.113.1', port: 0, routes: [] })).rejects.toThrow(
    'this machine has no such address',
  );
});

describe('a host that is known', () => {
  const allowed = [parseAllowedHost('worker'), parseAllowedHost('dash.example.com:8443')];

  it.each([
    ['localhost:8080', true],
    ['LOCALHOST', true],
    ['127.0.0.1:8080', true],
    ['10.0.0.7:9464', true],
    ['[::1]:8080', true],
    ['worker', true],
    ['Worker:9464', true],
    ['dash.example.com:8443', true],
    ['dash.example.com', false],
    ['rebound.example.com:8080', false],
    ['127.0.0.1.example.com', false],
    ['localhost.example.com', false],
    ['localhost@rebound.example.com', false],
    ['', false],
  ])('is %s: %j', (host, expected) => {
    expect(isKnownHost(host, allowed)).toBe(expected);
  });

  it('is all that gets an answer, and others hear which setting allows them', async () => {
    const app = new Hono().use(createHostCheck(allowed, '--allow-host'));
    app.get('/metrics', (context) => context.text('secrets'));
    const ask = async (host: string): Promise<readonly [number, string]> => {
      const answer = await app.request('/metrics', { headers: { host } });
      return [answer.status, await answer.text()];
    };
    expect(await ask('worker:9464')).toEqual([200, 'secrets']);
    const [status, text] = await ask('rebound.example.com');
    expect(status).toBe(421);
    expect(text).toContain('--allow-host');
    expect(text).not.toContain('secrets');
  });
});

describe('isFromOurPage', () => {
  const host = 'dash.example.com:8080';
  it.each([
    [{ host, origin: 'http://dash.example.com:8080', 'sec-fetch-site': 'same-origin' }, true],
    [{ host, origin: 'http://dash.example.com:8080' }, true],
    [{ host: 'dash.example.com', origin: 'https://dash.example.com' }, true],
    [{ host, origin: 'http://dash.example.com' }, false],
    [{ host, origin: 'http://evil.example.com', 'sec-fetch-site': 'cross-site' }, false],
    [{ host, origin: 'http://dash.example.com:8080', 'sec-fetch-site': 'same-site' }, false],
    [
      { host: 'localhost', origin: 'https://dash.example.com', 'sec-fetch-site': 'same-origin' },
      true,
    ],
    [{ host: 'localhost:8080', origin: 'https://dash.example.com' }, false],
    [{ host, origin: 'http://dash.example.com:8080', 'sec-fetch-site': 'none' }, false],
    [{ host, origin: 'null' }, false],
    [{ host, 'sec-fetch-site': 'same-origin' }, true],
    [{ host }, false],
    [{ origin: 'http://dash.example.com:8080' }, false],
  ] as const)('of %j is %j', (headers, expected) => {
    expect(isFromOurPage(new Headers(headers))).toBe(expected);
  });
});

it('takes a check without an answer in two seconds for one that failed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const health = createHealth();
  health.started();
  health.check(() => new Promise(() => {}));
  const reasons = health.reasons();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await reasons).toEqual(['a check had no answer in time']);
});
