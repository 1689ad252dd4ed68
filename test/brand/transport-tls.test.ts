import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { useClient } from './support/clients.ts';

const JSON_BODY = '{"name":"Acme"}';

let folder: string;
let identity: Pick<TlsOptions, 'key' | 'cert'>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'brandfill-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const output = ['-nodes', '-days', '2', '-keyout', key, '-out', cert, '-subj', '/CN=localhost'];
  execFileSync('openssl', [...request, ...output], { stdio: 'ignore' });
  identity = { key: readFileSync(key), cert: readFileSync(cert) };
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('an API over TLS', () => {
  it('that speaks HTTP/2 only has a reason of its own', async () => {
    const url = await listen(createSecureServer({ ...identity, allowHTTP1: false }));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason: 'http2_only' });
  });

  it('whose TLS is too old has a reason of its own', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    const url = await listen(createTlsServer({ ...identity, ...old }));
    expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason: 'tls_too_old' });
  });

  it.each([
    ['TLSv1.2', 'tls_refused'], // the alert names nothing
    ['TLSv1.3', 'client_certificate_required'],
  ] as const)(
    'that wants a client certificate has a reason of its own, with %s',
    async (minVersion, reason) => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      const own = { ca: identity.cert, requestCert: true, rejectUnauthorized: true };
      const url = await listen(
        createTlsServer({ ...identity, ...own, minVersion, maxVersion: minVersion }),
      );
      expect(await useClient(url).ask()).toMatchObject({ kind: 'try_again', reason });
    },
  );

  it('is read leniently, too', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const url = await listen(
      createTlsServer(identity, (socket) => {
        socket.on('error', () => {});
        socket.on('data', () => socket.write(`HTTP/1.1 200 OK\nX Y: z\n\n${JSON_BODY}`));
        socket.on('data', () => socket.end());
      }),
    );
    expect(await useClient(url).ask()).toMatchObject({ kind: 'found', json: JSON_BODY });
  });

  it('whose used connection is reset costs no call', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    let requests = 0;
    const url = await listen(
      createTlsServer(identity, (socket) => {
        let own = 0;
        socket.on('error', () => {});
        socket.on('data', () => {
          requests += 1;
          own += 1;
          if (own > 1) socket.destroy();
          else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n${JSON_BODY}`);
        });
      }),
    );
    const { ask } = useClient(url);
    expect(await ask()).toMatchObject({ kind: 'found' });
    expect(await ask()).toMatchObject({ kind: 'found' });
    expect(requests).toBe(3);
  });
});

async function listen(server: Server): Promise<string> {
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
