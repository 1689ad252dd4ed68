import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { freePort } from '../support/redis.ts';
import { openFolder } from './support/folder.ts';
import { ENCODED, expectSameBytes, hostOf, redisWith, refusal } from './support/queue-servers.ts';

describe('TLS', () => {
  test('carries a queue when its CA is named', async () => {
    const { port, certificate } = await useTlsRedis();
    const env = { NODE_EXTRA_CA_CERTS: certificate };
    await expectSameBytes(`rediss://localhost:${port}`, env);
    await expectSameBytes(`rediss://127.0.0.1:${port}`, env);
  });

  test('is refused with a certificate that nobody vouches for', async () => {
    const { port } = await useTlsRedis();
    expect(await refusal('worker', `rediss://:${ENCODED}@localhost:${port}`)).toBe(
      `brandfill: Cannot use the queue on Redis at localhost:${port}: its certificate is not trusted; name its CA in NODE_EXTRA_CA_CERTS.`,
    );
  });

  test('is asked for when a plain URL leads to it', async () => {
    const { port } = await useTlsRedis();
    expect(await refusal('worker', `redis://:${ENCODED}@localhost:${port}`)).toContain(
      'the connection broke off; if it speaks TLS, give rediss:// instead of redis://.',
    );
  });

  test('is not assumed where a server is plain', async () => {
    const redis = await redisWith();
    expect(await refusal('worker', `rediss://:${ENCODED}@${hostOf(redis)}`)).toContain(
      'if it does not speak TLS, give redis:// instead of rediss://.',
    );
  });
});

/** Starts a Redis that speaks TLS, with a certificate of its own making. */
async function useTlsRedis(): Promise<{ readonly port: number; readonly certificate: string }> {
  const folder = openFolder();
  const [key, certificate] = [folder.at('key.pem'), folder.at('certificate.pem')];
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const output = ['-nodes', '-days', '2', '-keyout', key, '-out', certificate];
  execFileSync('openssl', [...request, ...output, '-subj', '/CN=localhost', '-addext', names], {
    stdio: 'ignore',
  });
  const port = await freePort();
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key];
  const ca = ['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'];
  await redisWith('--tls-port', String(port), ...files, ...ca);
  return { port, certificate };
}
