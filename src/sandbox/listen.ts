import type { Server } from 'node:http';
import { SandboxError } from './sandbox-error.ts';

/**
 * Listen on an address and return the port.
 *
 * @throws SandboxError when the port is in use or may not be opened
 */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error) => reject(describeListenError(cause, host, port));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function describeListenError(cause: Error, host: string, port: number): SandboxError {
  const code = 'code' in cause ? cause.code : undefined;
  const start = `Cannot listen on ${formatHost(host)}:${port}`;
  if (code === 'EADDRINUSE') {
    const message = `${start}: the port is in use; choose another with --port, or 0 for any free one`;
    return new SandboxError('sandbox_port_in_use', message, { cause });
  }
  if (code === 'EACCES') {
    const message = `${start}: not permitted; choose a port above 1023 with --port, or 0 for any free one`;
    return new SandboxError('sandbox_cannot_listen', message, { cause });
  }
  return new SandboxError('sandbox_cannot_listen', `${start}: ${cause.message}`, { cause });
}

/** Puts an IPv6 address in brackets, as it must be before a port. */
export function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
