import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Passes bytes on to a server, until it swallows them. A connection that has lost some is never of use
 * again, as when a firewall has forgotten it, but it is not closed either.
 */
export interface SwallowingProxy {
  readonly port: number;
  /** While true, nothing arrives any more, and no connection is closed. */
  isSwallowing: boolean;
}

/** Starts a proxy that is closed when the test ends. */
export async function openSwallowingProxy(targetPort: number): Promise<SwallowingProxy> {
  const sockets = new Set<Socket>();
  const proxy = { port: 0, isSwallowing: false };
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let isLost = false;
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => {
        isLost ||= proxy.isSwallowing;
        if (!isLost) to.write(bytes);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return proxy;
}
