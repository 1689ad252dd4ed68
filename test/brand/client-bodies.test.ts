import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/brand/json-object.ts';
import { shapeOf } from '../../src/brand/shape.ts';
import { useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

const INVALID = { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' };

function respond(charset: string, body: Buffer): readonly (string | Buffer)[] {
  const type = `content-type: application/json${charset}\r\n`;
  return [`HTTP/1.1 200 OK\r\n${type}content-length: ${body.length}\r\n\r\n`, body];
}

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
    const { url } = await useScriptedServer(...respond(charset, iconv.encode(json, encoding)));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
  });

  it.each(['', '; charset=iso-8859-1', '; charset=none'])(
    'is UTF-8 where it may be, whatever is said of it (%s)',
    async (charset) => {
      const json = '{"name":"Zoë \uFFFD"}';
      const { url } = await useScriptedServer(...respond(charset, Buffer.from(json)));
      expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json });
    },
  );

  it('has a reason of its own when its charset is not known', async () => {
    const bytes = Buffer.from('{"name":"Zo\u00EB"}', 'latin1');
    const { url } = await useScriptedServer(...respond('; charset=x-own', bytes));
    expect(await useClient(url).ask()).toMatchObject({ ...INVALID, reason: 'unknown_charset' });
  });

  it.each(['', '; charset=utf-8', '; charset=utf-16le', '; charset=euc-jp'])(
    'is none when its bytes are no text in UTF-8, nor in what it says (%s)',
    async (charset) => {
      const bytes = Buffer.from('{"name":"Zo\u00EB"}', 'latin1');
      const { url } = await useScriptedServer(...respond(charset, bytes));
      expect(await useClient(url).ask()).toMatchObject(INVALID);
    },
  );

  it('needs no content type, and none keeps it from being read', async () => {
    const bare = await useScriptedServer('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    const html = await sandboxThatSays({ body: '{}', headers: { 'content-type': 'text/html' } });
    expect(await useClient(bare.url).ask()).toMatchObject({ kind: 'found' });
    expect(await useClient(html.url).ask()).toMatchObject({ kind: 'found' });
  });

  it.each([
    ['empty', ''],
    ['cut short', '{"name":"Acm'],
    ['a web page', '<html><body>Please log in</body></html>'],
  ])('is none when the body is %s', async (_, body) => {
    const { url } = await sandboxThatSays({ body });
    expect(await useClient(url).ask()).toMatchObject(INVALID);
  });

  it.each([
    ['a list', '[{"name":"Acme"}]', 'no JSON object'],
    ['null', 'null', 'no JSON object'],
    ['a text', '"Acme"', 'no JSON object'],
    ['two objects', '{}{}', "no JSON: '{}' at character 3"],
    ['a number that JSON does not know', '{"a":NaN,"b":1}', `no JSON: 'NaN,"b":1}' at character 6`],
    ['a raw line break in a text', '{"a":"b\nc"}', `no JSON: '"b c"}' at character 6`],
    [
      'a warning in front',
      '<br />\n<b>Warning</b>: x in /y.php<br />\n{"a":"b"}',
      "no JSON: '<br /> <b>Warning</b>: x in /y.php<br />' at character 1",
    ],
  ])('is no JSON, and came whole: %s', async (_, body, reason) => {
    const { url } = await sandboxThatSays({ body });
    const whole = { kind: 'invalid_response', httpStatus: 200, reason, isWhole: true };
    expect(await useClient(url).ask()).toMatchObject(whole);
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
