import { describe, expect, it } from 'vitest';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';
import { useHttpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

describe('what is sent', () => {
  interface Seen {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  }

  async function useEcho(): Promise<{ url: string; seen: Seen[] }> {
    const seen: Seen[] = [];
    const { url } = await useHttpServer((request, response) => {
      seen.push({ method: request.method, url: request.url, headers: request.headers });
      response.end('{}');
    });
    return { url, seen };
  }

  it('is a GET that asks for JSON, packed if the server likes', async () => {
    const { url, seen } = await useEcho();
    await useClient(url).ask();
    expect(seen).toEqual([
      {
        method: 'GET',
        url: '/v1/brand?domain=acme.com',
        headers: {
          host: new URL(url).host,
          connection: 'keep-alive',
          accept: 'application/json',
          'accept-encoding': 'gzip, br',
          'user-agent': 'brandfill',
        },
      },
    ]);
  });

  it('keeps the path of the base URL and encodes what goes into the query', async () => {
    const { url, seen } = await useEcho();
    const params = [
      ['lang', 'de & en'],
      ['a=b', 'ü?#'],
    ] as const;
    await useClient(`${url}/api/eu/`, { params }).ask('a&b=c.com');
    expect(seen[0]?.url).toBe(
      '/api/eu/v1/brand?domain=a%26b%3Dc.com&lang=de%20%26%20en&a%3Db=%C3%BC%3F%23',
    );
  });

  it.each([
    ['bearer', { authorization: 'Bearer user:key' }],
    ['basic', { authorization: `Basic ${btoa('user:key')}` }],
    ['header:X-Api-Key', { 'x-api-key': 'user:key' }],
  ])('carries the credential as %s wants it', async (spec, headers) => {
    const { url, seen } = await useEcho();
    await useClient(url, { credential: createCredential(parseAuth(spec), 'user:key') }).ask();
    expect(seen[0]).toMatchObject({ url: '/v1/brand?domain=acme.com', headers });
  });

  it('carries the credential in the query if that is wanted, and then in no header', async () => {
    const { url, seen } = await useEcho();
    const credential = createCredential(parseAuth('query:api_key'), 'k&y=1');
    await useClient(url, { credential, params: [['lang', 'de']] }).ask();
    expect(seen[0]?.url).toBe('/v1/brand?domain=acme.com&lang=de&api_key=k%26y%3D1');
    expect(JSON.stringify(seen[0]?.headers)).not.toContain('k&y');
  });

  it('carries extra headers; they replace ours but not the credential', async () => {
    const { url, seen } = await useEcho();
    const headers = [
      ['X-Tenant', 'ä 1'],
      ['User-Agent', 'nightly'],
      ['Accept', 'application/vnd.brand+json'],
      ['X-Api-Key', 'wrong'],
    ] as const;
    const credential = createCredential(parseAuth('header:x-api-key'), 'right');
    await useClient(url, { headers, credential }).ask();
    expect(seen[0]?.headers).toMatchObject({
      'x-tenant': 'ä 1',
      'user-agent': 'nightly',
      accept: 'application/vnd.brand+json',
      'x-api-key': 'right',
    });
  });

  it('is nothing when the signal has fired before the call, which throws its reason', async () => {
    const { url, seen } = await useEcho();
    const { ask } = useClient(url);
    const reason = new Error('enough');
    await expect(ask('acme.com', AbortSignal.abort(reason))).rejects.toBe(reason);
    await ask('other.com');
    expect(seen.map((request) => request.url)).toEqual(['/v1/brand?domain=other.com']);
  });
});
