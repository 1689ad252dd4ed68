import { describe, expect, it } from 'vitest';
import { type Answer, meaningOf } from '../../src/brand/answer.ts';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

describe('the meaning of a status', () => {
  it.each<[string, readonly number[]]>([
    ['found', [200, 201, 203, 206, 207, 208, 226, 299]],
    ['not_found', [204, 205, 404, 410]],
    ['pending', [202]],
    ['unauthorized', [401]],
    ['quota_used_up', [402]],
    ['forbidden', [403]],
    ['throttled', [429]],
    ['rejected', [400, 405, 406, 411, 413, 414, 418, 422, 426, 428, 431, 451, 499]],
    ['try_again', [408, 409, 420, 421, 423, 424, 425, 430, 449, 498]],
    ['try_again', [500, 502, 503, 504, 506, 507, 520, 521, 524, 530, 598, 599]],
    ['redirect', [300, 301, 302, 303, 304, 307, 308]],
    ['refused', [501, 505, 100, 101, 199, 600, 999]],
  ])('is %s for %j', (meaning, statuses) => {
    expect(statuses.map((status) => [status, meaningOf(status)])).toEqual(
      statuses.map((status) => [status, meaning]),
    );
  });
});

describe('an answer that is not found', () => {
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
});

async function answerTo(status: number, headers: Record<string, string>): Promise<Answer> {
  const { url } = await sandboxThatSays({ status, headers, body: '{}' });
  return await useClient(url).ask();
}

describe('limits told in headers', () => {
  it.each([
    [200, 'found'],
    [202, 'pending'],
    [400, 'rejected'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [429, 'throttled'],
    [503, 'try_again'],
  ])('come with an answer of %i', async (status, kind) => {
    const headers = { ratelimit: '"p";r=7;t=30', 'ratelimit-policy': '"p";q=100;w=60' };
    expect(await answerTo(status, headers)).toMatchObject({
      kind,
      limits: { quota: { count: 100, perMs: 60_000 }, remaining: 7, resetMs: 30_000 },
    });
  });
});

describe('the reason of a rejection', () => {
  async function reasonFor(body: string | Buffer, header = ''): Promise<unknown> {
    const bytes = Buffer.from(body);
    const head = `HTTP/1.1 400 X\r\ncontent-length: ${bytes.length}\r\n${header}\r\n`;
    const { url } = await useScriptedServer(Buffer.concat([Buffer.from(head), bytes]));
    return await useClient(url).ask();
  }

  it.each([400, 403, 405, 418, 422, 451])('is what the body of %i says', async (status) => {
    const { url } = await sandboxThatSays({ status, body: '{"message":"no such thing"}' });
    expect(await useClient(url).ask()).toMatchObject({
      kind: status === 403 ? 'forbidden' : 'rejected',
      httpStatus: status,
      reason: '{"message":"no such thing"}',
    });
  });

  it('is the first 200 characters, none of them cut in half', async () => {
    expect(await reasonFor(`${'a'.repeat(199)}😀😀`)).toMatchObject({
      reason: `${'a'.repeat(199)}😀`,
    });
    expect(await reasonFor('食'.repeat(3_000))).toMatchObject({ reason: '食'.repeat(200) });
  });

  it('is on one line, with one space between words', async () => {
    expect(await reasonFor(' {\r\n\t"error":\n   "bad\u00a0 domain" }\n')).toMatchObject({
      reason: '{ "error": "bad domain" }',
    });
  });

  it('is the status when the body says nothing', async () => {
    expect(await reasonFor('')).toMatchObject({ reason: 'http_400' });
    expect(await reasonFor(' \r\n ')).toMatchObject({ reason: 'http_400' });
  });

  it('is what came before the body broke off or time was up', async () => {
    const answer = 'HTTP/1.1 400 X\r\ncontent-length: 100\r\n\r\nno such dom';
    const broken = await useTcpServer((socket) => socket.end(answer));
    const slow = await useScriptedServer(answer);
    const expected = { kind: 'rejected', httpStatus: 400, reason: 'no such dom' };
    expect(await useClient(broken.url).ask()).toMatchObject(expected);
    expect(await useClient(slow.url, { timeoutMs: 250 }).ask()).toMatchObject(expected);
  });

  it.each(['bearer', 'basic', 'header:x-key', 'query:key'])(
    'never shows the credential of %s',
    async (spec) => {
      const secret = 'user:s3cret/key+1';
      const credential = createCredential(parseAuth(spec), secret);
      const { url } = await useHttpServer((request, response) => {
        response.statusCode = 400;
        const { authorization, 'x-key': key } = request.headers;
        const said = [authorization, key, secret, encodeURIComponent(secret), btoa(secret)];
        response.end(JSON.stringify([request.url?.split('&')[1], ...said]));
      });
      const answer = await useClient(url, { credential }).ask();
      const shown = JSON.stringify(answer);
      expect(shown).toContain('[redacted]');
      for (const form of [secret, encodeURIComponent(secret), btoa(secret), 's3cret']) {
        expect(shown).not.toContain(form);
      }
    },
  );

  it('does not show half a credential at its end', async () => {
    const credential = createCredential({ kind: 'bearer' }, 'abcdefghij');
    const { url } = await sandboxThatSays({ status: 400, body: `${'x'.repeat(195)}abcdefghij` });
    expect(await useClient(url, { credential }).ask()).toMatchObject({
      reason: `${'x'.repeat(195)}[reda`,
    });
  });
});

describe('a credential in an answer', () => {
  const secret = 'sk_live/4f9aB7+x';

  it.each([200, 203, 400, 401, 403, 404, 500])(
    'is taken out of values, names and body, whatever the status: %i',
    async (status) => {
      const written = [secret, secret.toUpperCase(), encodeURIComponent(secret), btoa(secret)];
      const body = JSON.stringify({
        name: 'Acme',
        echo: written,
        [`for ${secret}`]: { [secret]: 1 },
      });
      const { url } = await sandboxThatSays({ status, body: body.replaceAll('/', String.raw`\/`) });
      const credential = createCredential({ kind: 'bearer' }, secret);
      const shown = JSON.stringify(await useClient(url, { credential }).ask());
      for (const form of [...written, String.raw`sk_live\\/4f9`, 'sk_live']) {
        expect(shown).not.toContain(form);
      }
      if (status < 300) {
        expect(shown).toContain('Acme');
        expect(shown).toContain('[redacted]');
      }
    },
  );

  it('is not seen in half where a body is no JSON, or is cut', async () => {
    const credential = createCredential({ kind: 'bearer' }, 'sk"live/4f9aB7+x');
    const broken = await sandboxThatSays({ status: 200, body: '{"a":sk"live/4f9aB7+x}' });
    expect(JSON.stringify(await useClient(broken.url, { credential }).ask())).not.toContain('4f9a');
    const long = `${' '.repeat(4_088)}sk"live/4f9aB7+x${' '.repeat(100_000)}`;
    const cut = await sandboxThatSays({ status: 400, body: long });
    expect(await useClient(cut.url, { credential }).ask()).toMatchObject({ reason: '[redacted]' });
  });
});
