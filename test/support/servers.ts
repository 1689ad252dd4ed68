import { createServer as createHttpServer, type RequestListener } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { onTestFinished } from 'vitest';

/** The name of no host: a label so long is not looked up, so no resolver has to answer. */
export const UNKNOWN_HOST = `${'nobody'.repeat(11)}.invalid`;

/** Starts an HTTP server that is closed when the test ends. */
export async function useHttpServer(listener: RequestListener) {
  return await start(createHttpServer({ keepAliveTimeout: 60_000 }, listener));
}

/** Starts a TCP server, for answers that no HTTP server would send; closed when the test ends. */
export async function useTcpServer(onRequest: (socket: Socket, request: string) => void) {
  return await start(
    createTcpServer((socket) => {
      socket.on('data', (bytes) => onRequest(socket, bytes.toString('latin1')));
    }),
  );
}

async function start(server: Server) {
  const open = new Set<Socket>();
  let opened = 0;
  server.on('connection', (socket: Socket) => {
    opened += 1;
    open.add(socket);
    socket.on('error', () => {}); // the caller may leave in the middle
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  /** @returns how many connections were opened to it */
  const connections = (): number => opened;
  return { url: `http://127.0.0.1:${port}`, port, connections };
}
