import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createGate } from '../support/gate.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

const MIB = 1024 * 1024;
const TOO_LARGE = { kind: 'refused', httpStatus: 200, reason: 'response_too_large' };
const INVALID = { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' };

function respond(headers: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n${headers}\r\n`),
    bytes,
  ]);
}

/** `{"a":"xxx…"}` of so many bytes. */
function jsonOf(sizeBytes: number): string {
  return `{"a":"${'x'.repeat(sizeBytes - 8)}"}`;
}

describe('the body of an answer', () => {
  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('is unpacked when it is packed with %s', async (encoding, pack) => {
    const json = '{"name":"Zoë","list":[1,2]}';
    const { url } = await useScriptedServer(
      respond(`content-encoding: ${encoding}\r\n`, pack(json)),
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it('is unpacked when it comes in pieces, cut anywhere', async () => {
    const json = JSON.stringify({ names: Array.from({ length: 500 }, (_, index) => `n${index}€`) });
    const packed = gzipSync(json);
    const { url } = await useHttpServer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      for (let at = 0; at < packed.length; at += 97) response.write(packed.subarray(at, at + 97));
      response.end();
    });
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it('keeps a letter whole that is cut by the end of a chunk', async () => {
    const json = '{"name":"€€€"}';
    const { url } = await useHttpServer((_, response) => {
      for (const byte of Buffer.from(json)) response.write(Buffer.from([byte]));
      response.end();
    });
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it.each([
    ['text that claims to be gzip', 'gzip', Buffer.from('{"a":1}')],
    ['text that claims to be br', 'br', Buffer.from('{"a":1}')],
    ['text that claims to be deflate', 'deflate', Buffer.from('{"a":1}')],
    ['gzip that claims to be br', 'br', gzipSync('{"a":1}')],
    ['gzip cut short', 'gzip', gzipSync('{"a":1}').subarray(0, -9)],
    ['gzip without a byte', 'gzip', Buffer.alloc(0)],
    ['gzip that says nothing about it', 'identity', gzipSync('{"a":1}')],
  ])('is invalid when it is %s', async (_, encoding, body) => {
    const { url } = await useScriptedServer(respond(`content-encoding: ${encoding}\r\n`, body));
    expect(await useClient(url).ask()).toMatchObject(INVALID);
  });

  it.each(['compress', 'gzip, zstd'])(
    'has a reason of its own when its encoding is not known (%s)',
    async (encoding) => {
      const body = gzipSync('{"a":1}');
      const { url } = await useScriptedServer(respond(`content-encoding: ${encoding}\r\n`, body));
      expect(await useClient(url).ask()).toMatchObject({
        ...INVALID,
        reason: 'unknown_content_encoding',
      });
    },
  );

  it('is read when its encoding is not known and it has none', async () => {
    const answer = respond('content-encoding: utf-8\r\n', '{"a":1}');
    const { url } = await useScriptedServer(answer);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: '{"a":1}' });
  });

  it('is unpacked twice when it is packed twice', async () => {
    const json = jsonOf(200_000);
    const answer = respond('content-encoding: gzip, br\r\n', brotliCompressSync(gzipSync(json)));
    const { url } = await useScriptedServer(answer);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it('is unpacked when it is packed for the transfer', async () => {
    const packed = gzipSync('{"a":1}');
    const { url } = await useScriptedServer(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n',
      `${packed.length.toString(16)}\r\n`,
      packed,
      '\r\n0\r\n\r\n',
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: '{"a":1}' });
  });

  it.each([
    ['plain, with its length', '', (text: string) => Buffer.from(text)],
    ['gzip', 'content-encoding: gzip\r\n', gzipSync],
    ['br', 'content-encoding: br\r\n', brotliCompressSync],
    ['deflate', 'content-encoding: deflate\r\n', deflateSync],
  ])('may be exactly as large as allowed and no byte larger (%s)', async (_, header, pack) => {
    const maxBodyBytes = 20_000;
    const fits = await useScriptedServer(respond(header, pack(jsonOf(maxBodyBytes))));
    const isOver = await useScriptedServer(respond(header, pack(jsonOf(maxBodyBytes + 1))));
    expect(await useClient(fits.url, { maxBodyBytes }).ask()).toMatchObject({ kind: 'found' });
    expect(await useClient(isOver.url, { maxBodyBytes }).ask()).toMatchObject(TOO_LARGE);
  });

  it('may be exactly as large as allowed and no byte larger (chunked, without a length)', async () => {
    const maxBodyBytes = 20_000;
    const { url } = await useHttpServer((request, response) => {
      response.write('{"a":"');
      const sizeBytes = request.url?.includes('over') ? maxBodyBytes + 1 : maxBodyBytes;
      response.end(`${'x'.repeat(sizeBytes - 8)}"}`);
    });
    const { ask } = useClient(url, { maxBodyBytes });
    expect(await ask('fits.com')).toMatchObject({ kind: 'found' });
    expect(await ask('over.com')).toMatchObject(TOO_LARGE);
    expect(await ask('fits.com')).toMatchObject({ kind: 'found' });
  });

  it('counts bytes, not letters', async () => {
    const { url } = await useScriptedServer(respond('', `{"a":"${'€'.repeat(10)}"}`));
    expect(await useClient(url, { maxBodyBytes: 37 }).ask()).toMatchObject(TOO_LARGE);
    expect(await useClient(url, { maxBodyBytes: 38 }).ask()).toMatchObject({ kind: 'found' });
  });

  it('may have 10 MiB by default', async () => {
    const fits = await useScriptedServer(respond('', jsonOf(10 * MIB)));
    const bomb = await useScriptedServer(
      respond(
        'content-encoding: gzip\r\n',
        gzipSync(Buffer.alloc(10 * MIB + 1, ' '), { level: 1 }),
      ),
    );
    expect(await useClient(fits.url).ask()).toMatchObject({ kind: 'found' });
    expect(await useClient(bomb.url).ask()).toMatchObject(TOO_LARGE);
  });

  it('is not read on once it is too large', async () => {
    let sentBytes = 0;
    const closed = createGate();
    const { url } = await useHttpServer((_, response) => {
      const piece = Buffer.alloc(64 * 1024, ' ');
      const send = (): void => {
        while (!response.destroyed && response.write(piece)) sentBytes += piece.length;
      };
      response.on('drain', send);
      response.on('close', closed.open);
      send();
    });
    expect(await useClient(url, { maxBodyBytes: 100_000 }).ask()).toMatchObject(TOO_LARGE);
    await closed.opened;
    expect(sentBytes).toBeLessThan(20 * MIB);
  });

  it('is not even begun when its declared length is too large', async () => {
    const closed = createGate();
    const { url } = await useTcpServer((socket) => {
      socket.on('close', closed.open);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{');
    });
    expect(await useClient(url).ask()).toMatchObject(TOO_LARGE);
    await closed.opened;
  });

  it('cannot pass the limit by declaring a small length and sending chunks', async () => {
    const chunk = jsonOf(200);
    const { url } = await useScriptedServer(
      `HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nc8\r\n${chunk}\r\n0\r\n\r\n`,
    );
    expect((await useClient(url, { maxBodyBytes: 50 }).ask()).kind).not.toBe('found');
  });
});
