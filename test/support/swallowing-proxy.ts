import { connect, type Socket } from 'node:net';
import { useTcpServer } from './servers.ts';

/**
 * Starts a proxy that passes bytes on to a server, until it swallows them; it is closed when the
 * test ends. A connection that has lost some is never of use again, as when a firewall has
 * forgotten it, but it is not closed either.
 */
export async function openSwallowingProxy(targetPort: number) {
  const targets = new WeakMap<Socket, Socket>();
  const lost = new WeakSet<Socket>();
  const { port } = await useTcpServer((client, request) => {
    const target = targets.get(client) ?? reach(client);
    pass(client, () => target.write(request, 'latin1'));
  });

  function reach(client: Socket): Socket {
    const target = connect(targetPort, '127.0.0.1');
    targets.set(client, target);
    target.on('data', (bytes) => pass(client, () => client.write(bytes)));
    target.on('error', () => {});
    target.on('close', () => client.destroy());
    client.on('close', () => target.destroy());
    return target;
  }

  function pass(client: Socket, write: () => void): void {
    if (proxy.isSwallowing) lost.add(client);
    if (!lost.has(client)) write();
  }

  /** While it is swallowing, nothing arrives any more, and no connection is closed. */
  const proxy = { port, isSwallowing: false };
  return proxy;
}
