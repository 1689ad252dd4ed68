import { describe, expect, it } from 'vitest';
import { createCredential } from '../../src/brand/credential.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

describe('a redirect', () => {
  async function redirectTo(
    location: string,
    { basePath = '', status = 302 } = {},
  ): Promise<unknown> {
    const { url } = await sandboxThatSays({ status, headers: { location } });
    return await useClient(`${url}${basePath}`).ask('acme.com');
  }

  it.each([301, 302, 303, 307, 308])('of status %i leads to its place', async (status) => {
    expect(await redirectTo('/v2/brand?domain=acme.com', { status })).toMatchObject({
      kind: 'redirect',
      httpStatus: status,
      path: '/v2/brand?domain=acme.com',
    });
  });

  it.each([
    ['/v2/brand/ACME.com', '/v2/brand/ACME.com'],
    ['?domain=www.acme.com', '/api/v1/brand?domain=www.acme.com'],
    ['brand/acme.com', '/api/v1/brand/acme.com'],
    ['../v2/brand?a=acme.com#part', '/api/v2/brand?a=acme.com'],
  ])('to %s is read against what was asked', async (location, path) => {
    expect(await redirectTo(location, { basePath: '/api' })).toMatchObject({
      kind: 'redirect',
      path,
    });
  });

  it.each([
    ['another host', 'https://evil.example/v1/brand'],
    ['another host, without a scheme', '//evil.example/v1/brand'],
    ['another port', 'http://127.0.0.1:1/v1/brand'],
    ['another name of the host', 'http://localhost/v1/brand'],
    ['no web address', 'javascript:alert(1)'],
    ['a file', 'file:///etc/passwd'],
  ])('to %s is not followed', async (_, location) => {
    expect(await redirectTo(location)).toMatchObject({
      kind: 'refused',
      httpStatus: 302,
      reason: 'redirect_to_another_origin',
    });
  });

  it.each(['/login', '/v1/brand', '/login?next=/v1/brand'])(
    'that has lost the domain is not followed: %s',
    async (location) => {
      expect(await redirectTo(location)).toMatchObject({
        kind: 'refused',
        reason: 'redirect_without_domain',
        sign: 'lost_domain',
      });
    },
  );

  it('to the same host with TLS is not followed', async () => {
    const { url } = await useSandbox({
      respond: () => ({ status: 301, headers: { location: url.replace('http:', 'https:') } }),
    });
    expect(await useClient(url).ask()).toMatchObject({ reason: 'redirect_to_another_origin' });
  });

  it('takes the credential nowhere else', async () => {
    const other = await useSandbox();
    const { url } = await sandboxThatSays({
      status: 307,
      headers: { location: `${other.url}/v1/brand?domain=acme.com` },
    });
    const credential = createCredential({ kind: 'bearer' }, 'secret');
    expect(await useClient(url, { credential }).ask()).toMatchObject({ kind: 'refused' });
    expect(other.stats().calls).toBe(0);
  });

  it.each([['http://'], ['http://[::']])('to %s leads nowhere', async (location) => {
    expect(await redirectTo(location)).toMatchObject({
      kind: 'refused',
      httpStatus: 302,
      reason: 'http_302',
    });
  });

  it('without a place leads nowhere', async () => {
    const { url } = await sandboxThatSays({ status: 302 });
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'refused',
      httpStatus: 302,
      reason: 'http_302',
    });
  });
});
