import { describe, expect, it } from 'vitest';
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
    [409, { kind: 'try_again', httpStatus: 409, reason: 'http_409' }],
    [503, { kind: 'try_again', httpStatus: 503, reason: 'http_503' }],
    [501, { kind: 'refused', httpStatus: 501, reason: 'http_501' }],
    [201, { kind: 'found', httpStatus: 201, json: '{"error":"x"}' }],
    [203, { kind: 'found', httpStatus: 203, json: '{"error":"x"}' }],
    [206, { kind: 'found', httpStatus: 206, json: '{"error":"x"}' }],
    [205, { kind: 'not_found', httpStatus: 205 }],
    [226, { kind: 'refused', httpStatus: 226, reason: 'http_226' }],
    [999, { kind: 'refused', httpStatus: 999, reason: 'http_999' }],
  ])('%i says so', async (status, answer) => {
    const { url } = await sandboxThatSays({ status, body: { error: 'x' } });
    expect(await useClient(url).ask()).toMatchObject(answer);
  });

  it('404 is doubtful where the base URL ends in what each call adds', async () => {
    const { url } = await sandboxThatSays({ status: 404, body: { error: 'x' } });
    const doubled = { kind: 'not_found', httpStatus: 404, sign: 'not_found_doubled' };
    expect(await useClient(`${url}/v1/`).ask()).toMatchObject(doubled);
    expect(await useClient(`${url}/v10`).ask()).not.toHaveProperty('sign');
  });

  it('204 says that there is nothing', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 204 No Content\r\n\r\n');
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'not_found',
      httpStatus: 204,
    });
  });

  it('304 without a place to go is no answer', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 304 Not Modified\r\n\r\n');
    expect(await useClient(url).ask()).toMatchObject({
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
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'refused',
      httpStatus: undefined,
      reason: 'response_too_large',
    });
  });

  it.each([404, 429, 503])('%i counts even if its body never ends', async (status) => {
    const { url } = await useScriptedServer(`HTTP/1.1 ${status} X\r\ncontent-length: 9\r\n\r\nx`);
    expect(await useClient(url, { timeoutMs: 500 }).ask()).toMatchObject({ httpStatus: status });
  });

  describe('that names a time itself', () => {
    const headers = { 'retry-after': '120' };

    it.each([400, 403, 409, 420, 422, 423, 425, 429, 430, 498, 500, 502, 503, 504])(
      'is about the moment, whatever its status: %i',
      async (status) => {
        const { url } = await sandboxThatSays({ status, headers, body: { error: 'x' } });
        expect(await useClient(url).ask()).toMatchObject({
          kind: 'throttled',
          httpStatus: status,
          retryAfterMs: 120_000,
        });
      },
    );

    it.each([403, 422, 503])(
      'says so with a limit that has nothing left, and its reset: %i',
      async (status) => {
        const limit = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' };
        const { url } = await sandboxThatSays({ status, headers: limit });
        expect(await useClient(url).ask()).toMatchObject({ kind: 'throttled', httpStatus: status });
        const some = await sandboxThatSays({
          status,
          headers: { ...limit, 'x-ratelimit-remaining': '7' },
        });
        expect(await useClient(some.url).ask()).not.toMatchObject({ kind: 'throttled' });
      },
    );

    it.each([
      ['500 with a limit', 500, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' }],
      ['500 that is told to be over', 500, { 'retry-after': '0' }],
      ['503 that is told to be over', 503, { 'retry-after': '0' }],
    ])('is still a failure of the server: %s', async (_, status, limit) => {
      const { url } = await sandboxThatSays({ status, headers: limit });
      expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', about: 'api' });
    });

    it.each([202, 404])('is not ready yet with %i', async (status) => {
      const { url } = await sandboxThatSays({ status, headers });
      expect(await useClient(url).ask()).toMatchObject({ kind: 'pending', retryAfterMs: 120_000 });
    });

    it('is an unknown domain with 404 and a limit that has nothing left', async () => {
      const limit = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' };
      const { url } = await sandboxThatSays({ status: 404, headers: limit });
      expect(await useClient(url).ask()).toMatchObject({ kind: 'not_found' });
    });
  });
});
