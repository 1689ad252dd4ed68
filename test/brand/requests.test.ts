import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';
import { createEndpoint, type NameValue } from '../../src/brand/endpoint.ts';
import { BrandfillError } from '../../src/common/errors.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import { useHttpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

describe('what is sent', () => {
  async function useEcho() {
    const seen: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[] = [];
    const { url } = await useHttpServer(({ method, url, headers }, response) => {
      seen.push({ method, url, headers });
      response.end('{}');
    });
    return { url, seen };
  }

  it('is a GET that asks for JSON, packed if the server likes', async () => {
    const { url, seen } = await useEcho();
    await useClient(url).ask();
    const headers = {
      host: new URL(url).host,
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'gzip, br',
      'user-agent': 'brandfill',
    };
    expect(seen).toEqual([{ method: 'GET', url: '/v1/brand?domain=acme.com', headers }]);
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
});

describe('createCredential', () => {
  it.each([
    ['none', 'key', { headers: [], queryParam: undefined }],
    ['bearer', 'key', { headers: [['authorization', 'Bearer key']] }],
    [
      'basic',
      'user:pass:word',
      { headers: [['authorization', `Basic ${btoa('user:pass:word')}`]] },
    ],
    ['basic', 'key', { headers: [['authorization', `Basic ${btoa('key:')}`]] }],
    ['basic', ':pass', { headers: [['authorization', `Basic ${btoa(':pass')}`]] }],
    ['header:X-Api-Key', 'key', { headers: [['x-api-key', 'key']], queryParam: undefined }],
    ['query:Key', 'schlüssel\n', { headers: [], queryParam: ['Key', 'schlüssel\n'] }],
  ])('puts the secret where %s wants it', (spec, secret, expected) => {
    expect(createCredential(parseAuth(spec), secret)).toMatchObject(expected);
  });

  it.each(['bearer', 'basic', 'header:x-key'])(
    'refuses, for %s, a secret that no header can carry, and does not repeat it',
    (spec) => {
      for (const end of ['\nx', '\r', 'é', '\0', '\t', '\uFEFF']) {
        const secret = `s3cret${end}`;
        const create = (): unknown => createCredential(parseAuth(spec), secret);
        expect(create).toThrow('characters that an HTTP header cannot carry');
        expect(create).not.toThrow(/s3cr/);
      }
    },
  );
});

const HOST = 'https://h.example';

describe('the address of a lookup', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com', '/v1/brand?domain=acme.com'],
    ['https://api.example.com/', 'https://api.example.com', '/v1/brand?domain=acme.com'],
    ['HTTPS://API.Example.com:443', 'https://api.example.com', '/v1/brand?domain=acme.com'],
    ['http://localhost:8080//', 'http://localhost:8080', '/v1/brand?domain=acme.com'],
    ['http://[::1]:8080/api', 'http://[::1]:8080', '/api/v1/brand?domain=acme.com'],
    ['https://h.example/a b/c/', 'https://h.example', '/a%20b/c/v1/brand?domain=acme.com'],
    ['https://h.example/v1', 'https://h.example', '/v1/v1/brand?domain=acme.com'],
    [' https://h.example ', 'https://h.example', '/v1/brand?domain=acme.com'],
  ])('of base URL %j', (baseUrl, origin, path) => {
    const endpoint = createEndpoint({ baseUrl });
    expect(endpoint.origin).toBe(origin);
    expect(endpoint.path('acme.com')).toBe(path);
  });

  it('has the parameters in their order, the credential last, all encoded', () => {
    const params = ['b=1 & 2', 'a=', 'b=ü'].map((pair) => pair.split('=') as [string, string]);
    const endpoint = createEndpoint({ baseUrl: HOST, params, secretParam: ['key', 'a=b'] });
    expect(endpoint.path('a&b#c')).toBe(
      '/v1/brand?domain=a%26b%23c&b=1%20%26%202&a=&b=%C3%BC&key=a%3Db',
    );
  });
});

describe('a base URL that cannot be one', () => {
  it.each(
    Object.entries({
      '': "expected a URL such as https://api.example.com, received ''",
      'api.example.com':
        "expected a URL such as https://api.example.com, received 'api.example.com'",
      'https://': "expected a URL such as https://api.example.com, received 'https://'",
      'ftp://h.example': "expected http or https, received 'ftp://'",
      'file:///etc': "expected http or https, received 'file://'",
      'https://user:pw@h.example':
        "it holds a user name or password; put the credential into BRANDFILL_API_KEY and choose option 'auth' basic",
      'https://h.example/?key=1':
        "it ends in a query or fragment; give query parameters with option 'params' NAME=VALUE",
      'https://h.example/v1/brand': "leave out the '/v1/brand' at its end, every call adds it",
    }),
  )('such as %j is refused with the reason', (baseUrl, reason) => {
    const refusal: unknown = expect.objectContaining({ code: 'INVALID_SETTING', message: reason });
    expect(() => createEndpoint({ baseUrl })).toThrow(refusal);
  });

  it.each([
    'https://user:s3cret@host:99999',
    'user:s3cret@h.example/path',
    'h.example/v1?key=s3cret',
    'https://h example/?key=s3cret',
    'https://user:s3cret@h.example/v1/brand?key=s3cret',
    'https://user:pa/s3cret@h.example',
    'https://user:s3cret＠h.example',
    'user:pa/s3cret@h.example',
    's3cret://x@h.example',
    'https:/user:s3cret@h.example:x',
  ])('such as %j is refused without repeating a credential in it', (baseUrl) => {
    expect(() => createEndpoint({ baseUrl })).toThrow(BrandfillError);
    expect(() => createEndpoint({ baseUrl })).not.toThrow(/s3cret/);
  });
});

it('a parameter called domain is refused, the credential included', () => {
  const pair: NameValue = ['domain', 's3cret'];
  for (const options of [{ params: [pair] }, { secretParam: pair }]) {
    const create = (): unknown => createEndpoint({ baseUrl: 'https://h.example', ...options });
    expect(create).toThrow("Cannot use 'domain' as a query parameter");
    expect(create).not.toThrow(/s3cret/);
  }
});

describe('the identity of an endpoint', () => {
  const idOf = (baseUrl: string, params: readonly NameValue[] = []): string =>
    createEndpoint({ baseUrl, params }).id;
  const base = 'https://h.example/api';

  it('does not depend on how the same thing is written', () => {
    expect(idOf('HTTPS://H.example:443/api/')).toBe(idOf(base));
    const params = Object.entries({ a: '1', b: '2' });
    expect(idOf(base, params)).toBe(idOf(base, params.toReversed()));
  });

  it('tells different APIs apart', () => {
    const ids = [
      idOf(base),
      idOf('http://h.example/api'),
      idOf('https://h.example'),
      idOf('https://h.example:8443/api'),
      idOf('https://other.example/api'),
      idOf(base, [['a', '1']]),
      idOf(base, [['a', '2']]),
      idOf(base, [['a', '1=b']]),
      idOf(base, [['a=1', 'b']]),
      idOf(base, [['a', '1\nb=2']]),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has nothing of the credential in it', () => {
    const secretParam: NameValue = ['key', 's3cret'];
    expect(createEndpoint({ baseUrl: base, secretParam }).id).toBe(idOf(base));
  });
});

describe('the name of the queue of an API', () => {
  function nameOf(baseUrl: string, params: readonly NameValue[] = [], path = ''): string {
    const request = `request: { baseUrl: "${baseUrl}", path: "${path}" }`;
    const profile = path === '' ? undefined : parseProfile('acme.yaml', request).api;
    return createEndpoint({ baseUrl, params, profile }).queueName;
  }

  it.each([
    ['https://api.example.com', 'api.example.com'],
    ['http://localhost:8080', 'localhost-8080'],
    ['http://127.0.0.1:8080/v1', '127.0.0.1-8080-v1'],
    ['https://my-api.example.com/eu/west/', 'my-api.example.com-eu-west'],
    ['http://api.example.com', 'api.example.com-80'],
  ])('of %s is %s', (baseUrl, name) => {
    expect(nameOf(baseUrl)).toBe(name);
  });

  it('is never that of another, and BullMQ takes it', () => {
    const long = 'x/'.repeat(80);
    const names = [
      nameOf('https://h.example/eu/west'),
      nameOf('https://h.example/eu-west'),
      nameOf('https://h.example/eu//west'),
      nameOf('https://h.example/eu/%20west'),
      nameOf('https://h.example-eu/west'),
      nameOf('https://h.example', [['eu', 'west']]),
      nameOf('https://h.example/eu', [['west', '']]),
      nameOf('https://h.example', [['eu-west', '']]),
      nameOf('https://h.example', Object.entries({ eu: 'we', st: '' })),
      nameOf('https://h.example', [], '/eu/west/{domain}'),
      nameOf('https://h.example', [], '/eu/{domain}/west'),
      nameOf('https://h.example/eu', [], '/west/{domain}'),
      nameOf('https://h.example:8443'),
      nameOf('https://h.example/8443'),
      nameOf('https://h/example/8443'),
      nameOf('https://h-8443'),
      nameOf('https://h:8443'),
      nameOf('https://h/8443'),
      nameOf('https://my/api.example'),
      nameOf('https://my-api.example'),
      nameOf('https://[::1]:8443'),
      nameOf('https://0.0.0.1:8443'),
      nameOf(`https://h.example/${long}a`),
      nameOf(`https://h.example/${long}b`),
    ];
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.filter((name) => !/^[\w.][\w.-]{0,110}$/.test(name))).toEqual([]);
    expect(names[1]).toMatch(/^h\.example-eu-west-0[\w-]{8}$/);
  });
});
