import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { type JsonObject } from '../../src/brand/json-object.ts';
import { shapeOf } from '../../src/brand/shape.ts';
import { createGate } from '../support/gate.ts';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

const INVALID = { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' };

describe('a found answer', () => {
  it.each([
    ['numbers as they are written', '{"a":1.10,"b":1e3,"c":-0.0}'],
    ['the order of its names', '{"z":1,"a":2,"10":3,"9":4}'],
    ['names that come twice', '{"a":1,"a":2}'],
    ['escapes as they are', String.raw`{"a":"\u00e9\/\n","b":"\ud83d\ude00"}`],
    ['letters of any script', '{"name":"Zoë 食狮 😀 \u2028 ﷽"}'],
    ['white space', '\r\n\t {  "a" :\n1 } \n'],
    ['no value at all', '{}'],
  ])('keeps %s', async (_, json) => {
    const { url } = await sandboxThatSays({ body: json });
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'found',
      httpStatus: 200,
      json,
      shape: shapeOf(JSON.parse(json) as JsonObject),
    });
  });

  it('keeps the digits of numbers that are too long for a double', async () => {
    const json = '{"id":12345678901234567890}';
    const { url } = await sandboxThatSays({ body: json });
    expect(await useClient(url).ask()).toMatchObject({
      json,
      shape: [['id']],
    });
  });

  it.each([
    ['with its length', 'content-length: 10\r\n\r\n\uFEFF{"a":1}'],
    ['chunked', 'transfer-encoding: chunked\r\n\r\na\r\n\uFEFF{"a":1}\r\n0\r\n\r\n'],
  ])('is read behind a byte order mark (%s)', async (_, rest) => {
    const { url } = await useScriptedServer(`HTTP/1.1 200 OK\r\n${rest}`);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: '{"a":1}' });
  });

  it.each([
    ['iso-8859-1', '; charset=ISO-8859-1', 'latin1', 'Zoë'],
    ['windows-1252', '; version=1; charset="windows-1252"', 'windows-1252', 'Zoë €'],
    ['utf-16, little end first', ';charset=utf-16le', 'utf-16le', 'Zoë €'],
    ['utf-16 with its mark', '; charset=utf-16', 'utf-16', 'Zoë €'],
    ['shift_jis', '; charset=Shift_JIS', 'shift_jis', '食'],
  ])('is read in the charset of its content type: %s', async (_, charset, encoding, name) => {
    const json = JSON.stringify({ name });
    const { url } = await useScriptedServer(respond(typeOf(charset), iconv.encode(json, encoding)));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it.each(['', '; charset=iso-8859-1', '; charset=none'])(
    'is UTF-8 where it may be, whatever is said of it (%s)',
    async (charset) => {
      const json = '{"name":"Zoë \uFFFD"}';
      const { url } = await useScriptedServer(respond(typeOf(charset), Buffer.from(json)));
      expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
    },
  );

  it.each(['', '; charset=utf-8', '; charset=utf-16le', '; charset=euc-jp'])(
    'is none when its bytes are no text in UTF-8, nor in what it says (%s)',
    async (charset) => {
      const bytes = Buffer.from('{"name":"Zo\u00EB"}', 'latin1');
      const { url } = await useScriptedServer(respond(typeOf(charset), bytes));
      expect(await useClient(url).ask()).toMatchObject({
        kind: 'invalid_response',
        isWhole: true,
        reason: 'no UTF-8: byte EB at 12',
      });
    },
  );

  it('needs no content type, and none keeps it from being read', async () => {
    const bare = await useScriptedServer('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    const html = await sandboxThatSays({ body: '{}', headers: { 'content-type': 'text/html' } });
    expect(await useClient(bare.url).ask()).toMatchObject({ kind: 'found' });
    expect(await useClient(html.url).ask()).toMatchObject({ kind: 'found' });
  });

  it('is none when the connection ends within the body', async () => {
    const cut = await sandboxThatSays({ body: '{"name":"Acme"}', breakOff: true });
    const chunked = await useTcpServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{"a":"b"}\r\n'),
    );
    expect(await useClient(cut.url).ask()).toMatchObject(INVALID);
    expect(await useClient(chunked.url).ask()).toMatchObject(INVALID);
  });
});

const MIB = 1024 * 1024;
const TOO_LARGE = { kind: 'refused', httpStatus: 200, reason: 'response_too_large' };

function respond(headers: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n${headers}\r\n`),
    bytes,
  ]);
}

function typeOf(charset: string): string {
  return `content-type: application/json${charset}\r\n`;
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
});
