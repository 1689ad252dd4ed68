import { describe, expect, it } from 'vitest';
import { useHttpServer, useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

const JSON_BODY = '{"name":"Acme"}';
const LENGTH = JSON_BODY.length;
const CHUNKED = `${LENGTH.toString(16)}\r\n${JSON_BODY}\r\n0\r\n\r\n`;
const OK = `HTTP/1.1 200 OK\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`;
const FOUND = { kind: 'found', httpStatus: 200, json: JSON_BODY };

describe('an answer that is no strict HTTP', () => {
  it.each([
    [
      'has a Content-Length beside its Transfer-Encoding',
      `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    ],
    [
      'has a header name with spaces',
      `HTTP/1.1 200 OK\r\nX Powered By: ASP\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has a line without a colon',
      `HTTP/1.1 200 OK\r\nno field\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has lines that end in a line feed',
      `HTTP/1.1 200 OK\nContent-Length: ${LENGTH}\n\n${JSON_BODY}`,
    ],
    ['comes after a 100 that nobody asked for', `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    [
      'states its length twice',
      `HTTP/1.1 200 OK\r\nContent-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has a control character in a field',
      `HTTP/1.1 200 OK\r\nX-A: a\x01\r\nContent-Length: ${LENGTH}\r\n\r\n${JSON_BODY}`,
    ],
    [
      'has spaces after the size of a chunk',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${LENGTH.toString(16)}  \r\n${CHUNKED.slice(3)}`,
    ],
  ])('is read when it %s', async (_, answer) => {
    const { url } = await useScriptedServer(answer);
    const { ask } = useClient(url);
    for (let call = 0; call < 3; call += 1) expect(await ask()).toMatchObject(FOUND);
  });

  it('is read byte by byte', async () => {
    const answer = `HTTP/1.1 200 OK\nX Y: z\nTransfer-Encoding: chunked\n\n${CHUNKED}`;
    const { url } = await useTcpServer((socket) => {
      let at = 0;
      const send = (): void => {
        if (at < answer.length) socket.write(answer.charAt(at++), () => setImmediate(send));
      };
      send();
    });
    expect(await useClient(url).ask()).toMatchObject(FOUND);
  });

  it('is read to the end of the connection when it states no length', async () => {
    const { url } = await useTcpServer((socket) =>
      socket.end(`HTTP/1.1 200 OK\nX Y: z\n\n${JSON_BODY}`),
    );
    expect(await useClient(url).ask()).toMatchObject(FOUND);
  });

  it('costs one more request once, and then one for each call', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    });
    const { ask } = useClient(url);
    for (let call = 0; call < 5; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(requests).toBe(6);
  });

  it('sends the same headers again', async () => {
    const heads: string[] = [];
    const { url, port } = await useTcpServer((socket, head) => {
      heads.push(head);
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    });
    await useClient(url, { headers: [['x-team', 'crm']] }).ask();
    const [first = '', second = ''] = heads.map((head) =>
      head.replace(/connection: .*\r\n/, '').toLowerCase(),
    );
    expect(second).toBe(first);
    expect(second).toContain(`host: 127.0.0.1:${port}`);
    expect(second).toContain('x-team: crm');
  });

  it.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n', 'invalid_http'],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}  ',
      'invalid_http',
    ],
    ['HTTP/2 alone', Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]), 'http2_only'],
  ])('has a reason of its own when it is %s', async (_, answer, reason) => {
    const { url } = await useScriptedServer(answer);
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason });
  });

  it('that is cut off is told as that', async () => {
    const { url } = await useTcpServer((socket) =>
      socket.end('HTTP/1.1 200 OK\nX Y: z\nContent-Length: 100\n\n{"name":'),
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'invalid_response' });
  });

  it('ends on time', async () => {
    const { url } = await useScriptedServer('HTTP/1.1 200 OK\nX Y: z\nContent-Length: 100\n\n{');
    expect(await useClient(url, { timeoutMs: 150 }).ask()).toMatchObject({ reason: 'timeout' });
  });
});

describe('a connection that had been used and is reset before an answer', () => {
  /** Answers so many requests on each connection, and resets it at the next. */
  async function useResettingServer(answers: number): Promise<{
    readonly url: string;
    requests(): number;
    connections(): number;
  }> {
    let requests = 0;
    const answered = new WeakMap<object, number>();
    const server = await useTcpServer((socket) => {
      requests += 1;
      const count = answered.get(socket) ?? 0;
      answered.set(socket, count + 1);
      if (count < answers) socket.write(OK);
      else socket.resetAndDestroy();
    });
    return { url: server.url, requests: () => requests, connections: server.connections };
  }

  it('costs no call', async () => {
    const { url } = await useResettingServer(1);
    const { ask } = useClient(url);
    for (let call = 0; call < 30; call += 1) expect(await ask()).toMatchObject(FOUND);
  });

  it('is not used again after a few of them', async () => {
    const server = await useResettingServer(1);
    const { ask } = useClient(server.url, { connections: 4 });
    for (let call = 0; call < 50; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(server.requests()).toBeLessThan(58);
    expect(server.connections()).toBeGreaterThanOrEqual(45);
  });

  it('is a matter of course when it answered many calls before', async () => {
    const server = await useResettingServer(10);
    const { ask } = useClient(server.url);
    for (let call = 0; call < 100; call += 1) expect(await ask()).toMatchObject(FOUND);
    expect(server.connections()).toBeLessThan(25);
  });

  it('is a failure when it is a fresh one', async () => {
    const server = await useResettingServer(0);
    const { ask } = useClient(server.url);
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'connection_reset' });
    expect(server.requests()).toBe(1);
  });

  it('is a failure when a part of the answer had come', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      if (requests === 1) socket.write(OK);
      else socket.write('HTTP/1.1 200', () => socket.resetAndDestroy());
    });
    const { ask } = useClient(url);
    expect(await ask()).toMatchObject(FOUND);
    expect(await ask()).toMatchObject({ reason: 'connection_reset' });
    expect(requests).toBe(2);
  });

  it('is closed in order by some, which is the same', async () => {
    let requests = 0;
    const { url } = await useTcpServer((socket) => {
      requests += 1;
      if (requests % 2 === 1) socket.write(OK);
      else socket.end();
    });
    const { ask } = useClient(url);
    expect(await ask()).toMatchObject(FOUND);
    expect(await ask()).toMatchObject(FOUND);
    expect(requests).toBe(3);
  });

  it('has one deadline with the second request', async () => {
    let requests = 0;
    const { url } = await useHttpServer((request, response) => {
      requests += 1;
      if (requests === 1) response.end(JSON_BODY);
      else if (requests === 2) setTimeout(() => request.socket.resetAndDestroy(), 100);
    });
    const { ask } = useClient(url, { timeoutMs: 300 });
    expect(await ask()).toMatchObject(FOUND);
    const startMs = performance.now();
    expect(await ask()).toMatchObject({ reason: 'timeout' });
    expect(performance.now() - startMs).toBeLessThan(400);
    expect(requests).toBe(3);
  });
});
