import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openRunBoard } from '../../src/run/run-status.ts';

it('a run does not wait for a Redis in which it is shown and that does not answer', async () => {
  const open = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    open.add(socket);
    most = Math.max(most, open.size);
    socket.resume().on('error', () => {});
    socket.on('close', () => open.delete(socket));
    if (open.size === 2) server.emit('two');
  });
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const twoCame = once(server, 'two');
  // Had the first been waited for, it would have given up before the second comes.
  const boards = [
    await openRunBoard(url, { runId: 'a', signal, onEvent: () => {} }),
    await openRunBoard(url, { runId: 'b', signal, onEvent: () => {} }),
  ];
  await twoCame;
  for (const socket of open) socket.destroy();
  await Promise.all(boards.map((board) => board.close(undefined)));
  expect(most).toBe(2);
});
