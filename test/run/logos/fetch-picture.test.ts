import type { IncomingMessage, RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createPictureFetcher,
  type Fetched,
  findLogoUrl,
  isPublicAddress,
  type PictureFetcherOptions,
} from '../../../src/run/logos/fetch-picture.ts';
import { UNKNOWN_HOST, useHttpServer, useTcpServer } from '../../support/servers.ts';
import { GIF, PLAIN_SVG, PNG } from './pictures.ts';

/** A fetcher to which 127.0.0.1 is a public address, and all others are not. */
function useFetcher(options: Partial<PictureFetcherOptions> = {}) {
  const resolve = async (hostname: string) => [
    { address: hostname.startsWith('inside') ? '127.0.0.2' : '127.0.0.1', family: 4 },
  ];
  const fetcher = createPictureFetcher({
    maxBytes: 10_000,
    resolve,
    isPublic: (address) => address === '127.0.0.1',
    ...options,
  });
  onTestFinished(() => fetcher.close());
  const get = async (url: string): Promise<string> =>
    inWords(await fetcher.fetch(new URL(url), new AbortController().signal));
  return { fetcher, get };
}

function inWords(fetched: Fetched): string {
  return 'reason' in fetched ? fetched.reason : `${fetched.kind}, ${fetched.bytes.length} bytes`;
}

/** A server that answers by path. */
async function useServer(pages: Readonly<Record<string, RequestListener | string | Buffer>>) {
  const requests: IncomingMessage[] = [];
  const server = await useHttpServer((request, response) => {
    requests.push(request);
    const page = pages[request.url ?? ''];
    if (page === undefined) response.writeHead(404).end('no such page');
    else if (typeof page === 'function') page(request, response);
    else response.end(page);
  });
  return { port: server.port, requests, connections: server.connections };
}

const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    response.writeHead(status, { location }).end();

const endless: RequestListener = (_, response) => {
  const write = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(20_000, PNG)));
  };
  response.on('drain', write);
  write();
};

const drip: RequestListener = (_, response) => {
  response.write(PNG);
  const ticker = setInterval(() => response.write('x'), 20);
  response.on('close', () => clearInterval(ticker));
};

const packed: RequestListener = (_, response) =>
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(PNG));

const HALF = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${PNG.length * 2}\r\n\r\n`);

describe('a picture is fetched', () => {
  it.each<[what: string, page: string | Buffer | RequestListener, expected: string, object?]>([
    ['a PNG', PNG, `png, ${PNG.length} bytes`],
    ['SVG', PLAIN_SVG, 'svg_left_out'],
    ['SVG that is taken', PLAIN_SVG, `svg, ${PLAIN_SVG.length} bytes`, { takesSvg: true }],
    ['a page', '<!doctype html><p>Log in', 'not_a_picture', { takesSvg: true }],
    ['a redirect to nowhere', (_, response) => response.writeHead(302).end(), 'http_302'],
    ['too large', Buffer.alloc(20_000, PNG), 'too_large'],
    ['endless', endless, 'too_large'],
    ['compressed', packed, 'not_a_picture'],
    ['cut', ({ socket }) => socket.end(Buffer.concat([HALF, PNG])), 'connection_reset'],
    ['silent', () => {}, 'timeout', { timeoutMs: 300 }],
    ['never done', drip, 'timeout', { timeoutMs: 300 }],
  ])('that is %s', async (_, page, expected, options = {}) => {
    const { port } = await useServer({ '/logo.svg': page });
    const { get } = useFetcher(options);
    expect(await get(`http://free.example:${port}/logo.svg`)).toBe(expected);
  });

  it('without a word about who asks for whom', async () => {
    const { port, requests } = await useServer({ '/a': redirectTo('/b?c=d'), '/b?c=d': PNG });
    const { get } = useFetcher({ ownOrigin: `http://free.example:${port}` });
    await get(`http://user:secret@free.example:${port}/a#part`);
    expect(requests.map(({ url }) => url)).toEqual(['/a', '/b?c=d']);
    for (const { headers } of requests) {
      expect(headers).toEqual({
        host: `free.example:${port}`,
        connection: 'keep-alive',
        accept: expect.stringContaining('image/'),
        'accept-encoding': 'identity',
        'user-agent': 'brandfill',
      });
    }
  });

  it('unless its name is never resolved, its server speaks no HTTP, or the run ends', async () => {
    const resolve = () => new Promise<never>(() => {});
    const { get } = useFetcher({ resolve, timeoutMs: 300 });
    expect(await get('http://name.example/')).toBe('timeout');
    const noise = await useTcpServer((socket) => socket.write('220 mail.example ESMTP\r\n'));
    expect(await useFetcher().get(`http://free.example:${noise.port}/`)).toBe('invalid_http');
    const stop = new AbortController();
    const { port } = await useServer({ '/silent': () => stop.abort() });
    const url = new URL(`http://free.example:${port}/silent`);
    expect(inWords(await useFetcher().fetcher.fetch(url, stop.signal))).toBe('not_asked');
  });
});

describe('redirects', () => {
  it('are followed five times', async () => {
    const { port, requests } = await useServer({
      '/1': redirectTo('/2', 301),
      '/2': redirectTo('/3', 303),
      '/3': redirectTo('/4', 307),
      '/4': redirectTo('/5', 308),
      '/5': redirectTo('/6'),
      '/6': PNG,
      '/0': redirectTo('/1'),
      '/loop': redirectTo('/loop'),
    });
    const at = `http://free.example:${port}`;
    const { get } = useFetcher({ ownOrigin: at });
    expect(await get(`${at}/1`)).toBe(`png, ${PNG.length} bytes`);
    expect(await get(`${at}/0`)).toBe('too_many_redirects');
    requests.length = 0;
    expect(await get(`${at}/loop`)).toBe('too_many_redirects');
    expect(requests).toHaveLength(6);
  });

  it.each([
    ['http://inside.example/', 'private_address'],
    ['http://127.0.0.2/', 'private_address'],
    ['//inside.example/', 'private_address'],
    ['file:///etc/passwd', 'unsupported_scheme'],
    ['http://outside.example:6379/', 'unsupported_port'],
    ['http://', 'invalid_url'],
  ])('to %s end there: %s', async (location, reason) => {
    const { port } = await useServer({ '/a': redirectTo(location) });
    const { get } = useFetcher({ ownOrigin: `http://free.example:${port}` });
    expect(await get(`http://free.example:${port}/a`)).toBe(reason);
  });

  it.each([
    ['another port', 'unsupported_port', (port: number) => `http://free.example:${port}/`],
    ['another port of its address', 'unsupported_port', (port: number) => `//127.0.0.1:${port}/`],
    ['its usual port', 'connection_refused', () => 'http://free.example/'],
    [
      'TLS on its port',
      'unsupported_port',
      (_: number, own: number) => `https://free.example:${own}/`,
    ],
  ])('from the API to %s reach nothing else on its host', async (_, reason, place) => {
    const other = await useServer({ '/': PNG });
    const api = await useServer({
      '/a': (request, response) => redirectTo(place(other.port, api.port))(request, response),
    });
    const { get } = useFetcher({ ownOrigin: `http://free.example:${api.port}` });
    expect(await get(`http://free.example:${api.port}/a`)).toBe(reason);
    expect(other.requests).toEqual([]);
  });
});

describe('the address of a host', () => {
  /** As they are for everybody. */
  const REAL = { resolve: undefined, isPublic: undefined };

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost/',
  ])('%s is refused as private', async (url) => {
    expect(await useFetcher(REAL).get(url)).toBe('private_address');
  });

  it('is refused when it is private beside others that are not', async () => {
    const both = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    const { get } = useFetcher({ resolve: async () => both });
    expect(await get('http://both.example/')).toBe('private_address');
  });

  it('is the one that was checked, whatever the name resolves to a moment later', async () => {
    const once: RequestListener = (_, response) => {
      response.writeHead(200, { connection: 'close' }).end(PNG);
    };
    const { port, connections } = await useServer({ '/a': once });
    const answers = ['127.0.0.1', '127.0.0.2'];
    let asked = 0;
    const { get } = useFetcher({
      resolve: async () => [{ address: answers[asked++] ?? '127.0.0.2', family: 4 }],
    });
    const url = `http://rebinding.example:${port}/a`;
    expect(await get(url)).toBe(`png, ${PNG.length} bytes`);
    expect(asked).toBe(1);
    expect(await get(url)).toBe('private_address');
    expect({ asked, connections: connections() }).toEqual({ asked: 2, connections: 1 });
  });

  it('is told when there is none', async () => {
    const { get } = useFetcher({ resolve: async () => [] });
    expect(await get('http://nowhere.example/')).toBe('dns_failure');
    expect(await useFetcher(REAL).get(`http://${UNKNOWN_HOST}/`)).toBe('dns_failure');
  });

  it('is not checked for the API, and for no other', async () => {
    const { port } = await useServer({
      '/a': PNG,
      '/b': redirectTo('http://127.0.0.2/'),
      '/c': redirectTo('http://localhost/'),
    });
    const { get } = useFetcher({ ...REAL, ownOrigin: `http://localhost:${port}` });
    expect(await get(`http://localhost:${port}/a`)).toBe(`png, ${PNG.length} bytes`);
    expect(await get(`http://localhost:${port}/b`)).toBe('private_address');
    expect(await get(`http://localhost:${port}/c`)).toBe('private_address');
  });
});

function find(value: unknown, ownOrigin?: string): string {
  const found = findLogoUrl(value, ownOrigin);
  return 'reason' in found ? found.reason : found.url.href;
}

describe('findLogoUrl', () => {
  it.each([
    ['https://cdn.example/a.png', 'https://cdn.example/a.png'],
    [' http://CDN.example:80/a b.png#c ', 'http://cdn.example/a%20b.png'],
    ['//cdn.example/a.png', 'https://cdn.example/a.png'],
    ['https://user:secret@cdn.example/a?b=c', 'https://cdn.example/a?b=c'],
    [[null, '', 'https://a.example/', 'https://b.example/'], 'https://a.example/'],
    ['data:image/png;base64,AAAA', 'unsupported_scheme'],
    ['https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
    [null, 'no_url'],
    [{ url: 'https://a.example/' }, 'no_url'],
    ['logo.png', 'invalid_url'],
    ['https://a b/', 'invalid_url'],
    ['file:///etc/passwd', 'unsupported_scheme'],
    ['cdn.example:80/logo.png', 'unsupported_scheme'],
    ['http://a.example:22/', 'unsupported_port'],
  ])('%j is %s', (value, expected) => {
    expect(find(value)).toBe(expected);
  });

  it('takes the port of the API', () => {
    const url = 'http://a.example:8080/';
    expect(find(url, 'http://a.example:8080')).toBe(url);
    expect(find(url, 'http://a.example')).toBe('unsupported_port');
  });
});

describe('isPublicAddress', () => {
  const PUBLIC = '8.8.8.8 172.32.0.1 100.128.0.1 2606:4700:4700::1111 64:ff9b::808:808';
  it.each(PUBLIC.split(' '))('%s is', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    ['10.0.0.1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['169.254.169.254', 'the metadata of a cloud'],
    ['168.63.129.16', "Azure's platform"],
    ['100.64.0.1', 'shared by a carrier'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::ffff:8.8.8.8', 'IPv4-mapped, though public'],
    ['64:ff9b::a9fe:a9fe', 'NAT64 of 169.254.169.254'],
    ['64:ff9b:1::7f00:1', 'NAT64 of a network of its own'],
    ['2002:7f00:1::', '6to4 of 127.0.0.1'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['fc00::1', 'unique local'],
    ['4000::1', 'not given out'],
    ['', 'no address'],
    ['127.1', 'no address'],
    ['8.8.8.8 ', 'no address'],
  ])("'%s' is not: %s", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

it.each([
  ['gif', GIF],
  ['jpg', bytes('\xff\xd8\xff\xe0\0\x10JFIF\0')],
  ['webp', bytes('RIFF\x24\0\0\0WEBPVP8L')],
  ['avif', bytes('\0\0\0\x1cftypavif\0\0\0\0avifmif1')],
  ['ico', bytes('\0\0\x01\0\x01\0\x10\x10\0\0')],
  ['png', Buffer.concat([PNG.subarray(0, 33), chunk('iCCP', 9_000), PNG.subarray(33)])],
  ['svg', Buffer.from(`\ufeff<?xml version="1.0"?>\n<!-- made -->\n${PLAIN_SVG}`)],
  ['svg', Buffer.from(`<!DOCTYPE svg [<!ENTITY a "<p>">]><s:svg xmlns:s="&a;">`)],
  ['none', Buffer.from('<!---->'.repeat(40))],
  ['none', Buffer.from(`<!---->\n`.repeat(1_000))],
  ['none', Buffer.from(`<?a ?>`.repeat(1_000))],
  ['none', Buffer.from('<svg-'.repeat(800))],
  ['none', Buffer.from(`<!DOCTYPE svg ${'<!ENTITY a "&a;&a;">'.repeat(100)}`)],
  ['none', gzipSync(Buffer.alloc(5_000_000))],
  ['none', Buffer.from(`words ${PLAIN_SVG}`)],
  ['none', bytes('\x89PNG\r\n')],
  ['none', bytes('RIFF\x24\0\0\0WAVEfmt ')],
  ['none', bytes('\0\0\0\x18ftypmp42\0\0\0\0mp42isom')],
  ['none', Buffer.from(`<p>${PLAIN_SVG}</p>`)],
  ['none', Buffer.alloc(100)],
])('the kind of a picture is %s, by its first bytes, in no time', async (kind, content) => {
  const { port } = await useServer({ '/a': content });
  const found = await useFetcher({ takesSvg: true }).get(`http://free.example:${port}/a`);
  expect(found.replace(/,.*/, '').replace('not_a_picture', 'none')).toBe(kind);
});

/** A part of a PNG. */
function chunk(name: string, sizeBytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(sizeBytes);
  return Buffer.concat([length, Buffer.from(name), Buffer.alloc(sizeBytes + 4)]);
}

/** Bytes that begin like this. */
function bytes(start: string): Buffer {
  return Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(64)]);
}
