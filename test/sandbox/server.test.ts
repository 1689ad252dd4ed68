import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ask, get, openSandbox } from './sandboxes.ts';

describe('sandbox', () => {
  it('answers a domain with JSON about it, the same every time', async () => {
    const sandbox = await openSandbox();
    const first = await ask(sandbox, 'acme.com');
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toMatch('application/json');
    expect(JSON.parse(first.text)).toMatchObject({ domain: 'acme.com' });
    expect((await ask(sandbox, 'acme.com')).text).toBe(first.text);
  });

  it('serves the brand path under any prefix', async () => {
    const { url } = await openSandbox();
    expect((await get(`${url}/api/eu/v1/brand?domain=acme.com`)).status).toBe(200);
  });

  it('answers other paths 404 and other methods 405, in JSON', async () => {
    const { url } = await openSandbox();
    const missing = await get(`${url}/v2/brand?domain=acme.com`);
    expect(missing.status).toBe(404);
    expect(JSON.parse(missing.text)).toMatchObject({ error: { code: 'no_such_path' } });
    const posted = await get(`${url}/v1/brand?domain=acme.com`, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });

  it('compresses only when told to', async () => {
    const [plain, packed] = await Promise.all([openSandbox(), openSandbox({ gzip: true })]);
    const expected = await ask(plain, 'acme.com');
    const received = await ask(packed, 'acme.com');
    expect(expected.headers.get('content-encoding')).toBeNull();
    expect(received.headers.get('content-encoding')).toBe('gzip');
    expect(received.text).toBe(expected.text);
    const refused = await ask(packed, 'acme.com', { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(refused.headers.get('content-encoding')).toBeNull();
  });

  it('says which port is in use and what to do', async () => {
    const { port } = await openSandbox();
    await expect(startSandbox({ port })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another with --port, or 0 for any free one`,
    );
    await expect(startSandbox({ port })).rejects.toMatchObject({ code: 'sandbox_port_in_use' });
  });

  it('names a wrong option and its value', async () => {
    await expect(startSandbox({ errors: 2 })).rejects.toThrow(
      "Cannot start the sandbox as 'errors' must be a share from 0 to 1: current value is 2",
    );
    await expect(startSandbox({ limit: { count: 0, perMs: 1000 } })).rejects.toThrow("'limit'");
    await expect(startSandbox({ latencyMs: { fromMs: 9, toMs: 3 } })).rejects.toThrow(
      "'latencyMs'",
    );
  });

  it.each<[object, string]>([
    [{ latency: 80 }, "it has no option 'latency'; there are: host, port, latencyMs, limit"],
    [{ toString: 1 }, "it has no option 'toString'"],
    [{ limitKind: 'bucket' }, "'limitKind' must be one of token-bucket, fixed-window"],
    [{ limitHeaders: 'all' }, "'limitHeaders' must be one of none, retry-after"],
    [
      { auth: 'bearer:secret-key' },
      "'auth' must be an object such as { scheme: 'bearer', key: 'secret' }: current value is a text",
    ],
    [{ auth: null }, "'auth' must be an object"],
    [{ auth: { key: 'k' } }, "'auth' must be an object"],
    [{ auth: { scheme: 'token', key: 'k' } }, "'auth' must be an object"],
    [{ auth: { scheme: {}, key: 'k' } }, "'auth' must be an object"],
    [{ host: 8080 }, "'host' must be a text: current value is 8080"],
    [{ latencyMs: null }, "'latencyMs' must be from 0 to 24 days, or a range"],
    [{ latencyMs: '80' }, "'latencyMs' must be from 0 to 24 days, or a range"],
    [
      { limit: '5/s' },
      '\'limit\' must be an object such as { count: 5, perMs: 1000 }: current value is "5/s"',
    ],
    [{ respond: {} }, "'respond' must be a function: current value is {}"],
  ])('refuses what a program without types may give: %j', async (options, expected) => {
    await expect(startSandbox(options)).rejects.toThrow(expected);
  });

  it.each<[unknown, string]>([
    [null, 'received null.'],
    ['8080', 'received a text.'],
    [[], 'received a list.'],
  ])('refuses options that are no object: %j', async (options, expected) => {
    const starting = startSandbox(options as SandboxOptions);
    await expect(starting).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
      message: expect.stringContaining(expected),
    });
  });

  it('closes at once, even with calls open', async () => {
    const sandbox = await startSandbox({
      latencyMs: 60_000,
      respond: (_, call) => (call === 1 ? 'hang' : undefined),
    });
    const calls = [ask(sandbox, 'a.com'), ask(sandbox, 'b.com')];
    const ended = Promise.allSettled(calls);
    await expect.poll(() => sandbox.stats().concurrency.now).toBe(2);
    await sandbox.close();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(ask(sandbox, 'a.com')).rejects.toThrow();
  });
});
