import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';
import { useScriptedServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

describe('an answer that is not found', () => {
  it.each([
    [404, { kind: 'not_found', httpStatus: 404 }],
    [410, { kind: 'not_found', httpStatus: 410 }],
    [401, { kind: 'unauthorized', httpStatus: 401 }],
    [402, { kind: 'quota_used_up', httpStatus: 402 }],
    [429, { kind: 'throttled', httpStatus: 429, retryAfterMs: undefined }],
    [202, { kind: 'pending', httpStatus: 202, retryAfterMs: undefined }],
    [503, { kind: 'try_again', httpStatus: 503, reason: 'http_503', retryAfterMs: undefined }],
    [501, { kind: 'refused', httpStatus: 501, reason: 'http_501' }],
    [206, { kind: 'refused', httpStatus: 206, reason: 'http_206' }],
    [999, { kind: 'refused', httpStatus: 999, reason: 'http_999' }],
  ])('%i says so', async (status, answer) => {
    const { url } = await sandboxThatSays({ status, body: { error: 'x' } });
    expect(await useClient(url).ask()).toEqual(answer);
  });

  it('404 is doubtful where the base URL ends in what each call adds', async () => {
    const { url } = await sandboxThatSays({ status: 404, body: { error: 'x' } });
    const doubled = { kind: 'not_found', httpStatus: 404, isDoubled: true };
    expect(await useClient(`${url}/v1/`).ask()).toEqual(doubled);
    expect(await useClient(`${url}/v10`).ask()).not.toHaveProperty('isDoubled');
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

  it.each([
    ['one that is long', `x-a: ${'a'.repeat(20_000)}\r\n`],
    ['many of them', 'x-a: b\r\n'.repeat(6_000)],
  ])('whose headers are too long is not asked for again: %s', async (_, headers) => {
    const { url } = await useScriptedServer(
      `HTTP/1.1 200 OK\r\n${headers}content-length: 2\r\n\r\n{}`,
    );
    expect(await useClient(url).ask()).toEqual({
      kind: 'refused',
      httpStatus: undefined,
      reason: 'response_too_large',
    });
  });

  it.each([404, 429, 503])('%i counts even if its body never ends', async (status) => {
    const { url } = await useScriptedServer(`HTTP/1.1 ${status} X\r\ncontent-length: 9\r\n\r\nx`);
    expect(await useClient(url, { timeoutMs: 500 }).ask()).toMatchObject({ httpStatus: status });
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
    const { ask } = useClient(url, { now: () => 0 });
    expect(await ask('acme.com')).toMatchObject({ kind: 'throttled', retryAfterMs });
    expect(await ask('busy.com')).toMatchObject({ kind: 'try_again', retryAfterMs });
  });
});
