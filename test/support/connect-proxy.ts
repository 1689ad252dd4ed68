import { connect, type Socket } from 'node:net';
import { useTcpServer } from './servers.ts';

const TUNNEL = 'HTTP/1.1 200 Connection established\r\n\r\n';

/** Starts a proxy that makes tunnels (CONNECT), and is closed when the test ends. */
export async function useConnectProxy() {
  const tunnels = new WeakMap<Socket, Socket>();
  const asked: string[] = [];
  const server = await useTcpServer((socket, request) => {
    const open = tunnels.get(socket);
    if (open) return void open.write(request, 'latin1');
    const [, host = '', port] = /^CONNECT (\S+):(\d+) /.exec(request) ?? [];
    asked.push(`${host}:${port}`);
    if (proxy.reply !== TUNNEL) return void socket.write(proxy.reply);
    const target = connect(Number(port), host, () => socket.write(proxy.reply));
    tunnels.set(socket, target);
    target.pipe(socket);
    target.on('error', () => socket.destroy());
    socket.on('close', () => target.destroy());
  });
  const proxy = {
    url: server.url,
    /** Hosts and ports to which tunnels were asked for. */
    asked,
    /** What is said to whoever asks for a tunnel; while it is empty, nothing is. */
    reply: TUNNEL,
  };
  return proxy;
}
