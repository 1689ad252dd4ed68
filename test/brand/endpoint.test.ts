import { describe, expect, it } from 'vitest';
import { createEndpoint, type NameValue } from '../../src/brand/endpoint.ts';
import { BrandfillError } from '../../src/common/errors.ts';

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
    const endpoint = createEndpoint({
      baseUrl: 'https://h.example',
      params: [
        ['b', '1 & 2'],
        ['a', ''],
        ['b', 'ü'],
      ],
      secretParam: ['key', 'a=b'],
    });
    expect(endpoint.path('a&b#c')).toBe(
      '/v1/brand?domain=a%26b%23c&b=1%20%26%202&a=&b=%C3%BC&key=a%3Db',
    );
  });
});

describe('a base URL that cannot be one', () => {
  it.each([
    ['', "expected a URL such as https://api.example.com, received ''"],
    [
      'api.example.com',
      "expected a URL such as https://api.example.com, received 'api.example.com'",
    ],
    [
      'localhost:8080/api',
      "expected a URL such as https://api.example.com, received 'localhost:8080/api'",
    ],
    ['https://', "expected a URL such as https://api.example.com, received 'https://'"],
    ['ftp://h.example', "expected http or https, received 'ftp://'"],
    ['file:///etc', "expected http or https, received 'file://'"],
    [
      'https://user:pw@h.example',
      'it holds a user name or password; put the credential into BRANDFILL_API_KEY and choose --auth basic',
    ],
    [
      'https://h.example/?key=1',
      'it ends in a query or fragment; give query parameters with --param NAME=VALUE',
    ],
    [
      'https://h.example/#x',
      'it ends in a query or fragment; give query parameters with --param NAME=VALUE',
    ],
    ['https://h.example/v1/brand', "leave out the '/v1/brand' at its end, every call adds it"],
    ['https://h.example/api/v1/brand/', "leave out the '/v1/brand' at its end, every call adds it"],
  ])('such as %j is refused with the reason', (baseUrl, reason) => {
    expect(() => createEndpoint({ baseUrl })).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message: reason,
      }),
    );
  });

  it.each([
    'https://user:s3cret@host:99999',
    'user:s3cret@h.example/path',
    'h.example/v1?key=s3cret',
    'h.example:443/v1?key=s3cret',
    'https://h example/?key=s3cret',
    '//user:s3cret@h.example',
    'https://user:s3cret@h.example/v1/brand?key=s3cret',
    'https://user:pa/s3cret@h.example',
    'https://user:12/s3cret@h.example',
    'https://s3cret:12/x@h.example',
    'https://user:12?s3cret@h.example',
    'https://user:12#s3cret@h.example',
    'https://user:12\\s3cret@h.example',
    'https://user:a@s3cret@h.example',
    'https://us er:s3 s3cret@h.example',
    'https://user:s3cret＠h.example',
    'https://user:s3cret%40h.example',
    'user:pa/s3cret@h.example',
    's3cret://x@h.example',
    'https:/user:s3cret@h.example:x',
    'https://user:s3cret',
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

  it('is short and made for a key', () => {
    expect(idOf(base)).toMatch(/^[\w-]{8}$/);
  });

  it('does not depend on how the same thing is written', () => {
    expect(idOf('HTTPS://H.example:443/api/')).toBe(idOf(base));
    expect(
      idOf(base, [
        ['a', '1'],
        ['b', '2'],
      ]),
    ).toBe(
      idOf(base, [
        ['b', '2'],
        ['a', '1'],
      ]),
    );
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
      idOf(base, [
        ['a', '1'],
        ['a', '1'],
      ]),
      idOf(base, [['a', '1=b']]),
      idOf(base, [['a=1', 'b']]),
      idOf(base, [['a', '1\nb=2']]),
      idOf(base, [
        ['a', '1'],
        ['b', '2'],
      ]),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has nothing of the credential in it', () => {
    const secretParam: NameValue = ['key', 's3cret'];
    expect(createEndpoint({ baseUrl: base, secretParam }).id).toBe(idOf(base));
  });
});
