import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

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

  it('is unpacked like any body', async () => {
    expect(await reasonFor(gzipSync('no such domain'), 'content-encoding: gzip\r\n')).toMatchObject(
      {
        reason: 'no such domain',
      },
    );
    expect(await reasonFor('no such domain', 'content-encoding: gzip\r\n')).toMatchObject({
      reason: 'http_400',
    });
  });

  it('is what came before the body broke off or time was up', async () => {
    const answer = 'HTTP/1.1 400 X\r\ncontent-length: 100\r\n\r\nno such dom';
    const broken = await useTcpServer((socket) => socket.end(answer));
    const slow = await useScriptedServer(answer);
    const expected = { kind: 'rejected', httpStatus: 400, reason: 'no such dom' };
    expect(await useClient(broken.url).ask()).toMatchObject(expected);
    expect(await useClient(slow.url, { timeoutMs: 500 }).ask()).toMatchObject(expected);
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

  it('leaves an answer without it as it came', async () => {
    const body = String.raw`{"id": 12345678901234567890, "url":"https:\/\/acme.com"}`;
    const { url } = await sandboxThatSays({ status: 200, body });
    const credential = createCredential({ kind: 'bearer' }, secret);
    expect(await useClient(url, { credential }).ask()).toMatchObject({ kind: 'found', json: body });
  });

  it('is not seen in half where a body is no JSON, or is cut', async () => {
    const credential = createCredential({ kind: 'bearer' }, 'sk"live/4f9aB7+x');
    const broken = await sandboxThatSays({ status: 200, body: '{"a":sk"live/4f9aB7+x}' });
    expect(JSON.stringify(await useClient(broken.url, { credential }).ask())).not.toContain('4f9a');
    const long = `${' '.repeat(4_088)}sk"live/4f9aB7+x${' '.repeat(100_000)}`;
    const cut = await sandboxThatSays({ status: 400, body: long });
    expect(await useClient(cut.url, { credential }).ask()).toMatchObject({ reason: '[redacted]' });
  });
});
