import { describe, expect, it } from 'vitest';
import { describeProxy, findProxy } from '../../src/brand/proxy.ts';

const ONE = 'http://one.example:3128';
const OTHER = 'http://other.example:3128';

describe('the proxy on the way to an API', () => {
  it.each<[origin: string, env: Record<string, string>, variable: string | undefined]>([
    ['http://a.example', { HTTP_PROXY: ONE }, 'HTTP_PROXY'],
    ['http://a.example', { http_proxy: ONE, HTTP_PROXY: OTHER }, 'http_proxy'],
    ['http://a.example', { http_proxy: '', HTTP_PROXY: ONE }, undefined],
    ['http://a.example', { HTTPS_PROXY: ONE }, undefined],
    ['http://a.example', { ALL_PROXY: ONE, all_proxy: ONE }, undefined],
    ['https://a.example', { HTTPS_PROXY: ONE, HTTP_PROXY: OTHER }, 'HTTPS_PROXY'],
    ['https://a.example', { https_proxy: ONE, HTTPS_PROXY: OTHER }, 'https_proxy'],
    ['https://a.example', { HTTP_PROXY: ONE }, 'HTTP_PROXY'],
    ['https://a.example', {}, undefined],
  ])('to %s with %j is that of %s', (origin, env, variable) => {
    expect(findProxy(origin, env)?.variable).toBe(variable);
    const named = variable === undefined ? undefined : new URL(ONE).host;
    expect(findProxy(origin, env)?.url.host).toBe(named);
  });

  it.each<[list: string, isUsed: boolean]>([
    ['', true],
    ['*', false],
    ['api.example', false],
    ['API.Example', false],
    ['example', false],
    ['.example', false],
    ['*.example', false],
    ['api.example:443', false],
    ['api.example:80', true],
    ['other.example, api.example', false],
    ['other.example api.example', false],
    ['i.example', true],
    ['v2.api.example', true],
    ['10.0.0.0/8', true],
  ])('is used where NO_PROXY is %j: %s', (list, isUsed) => {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      const env = { HTTPS_PROXY: ONE, [name]: list };
      expect(findProxy('https://api.example', env) !== undefined).toBe(isUsed);
    }
  });

  it('heeds NO_PROXY for addresses and ports, but no ranges', () => {
    const isUsed = (NO_PROXY: string): boolean =>
      findProxy('http://10.1.2.3:8080', { HTTP_PROXY: ONE, NO_PROXY }) !== undefined;
    expect(isUsed('10.1.2.3')).toBe(false);
    expect(isUsed('10.1.2.3:8080')).toBe(false);
    expect(isUsed('10.1.2.3:80')).toBe(true);
    expect(isUsed('10.0.0.0/8')).toBe(true);
  });

  it.each([
    'one.example:3128',
    '10.0.0.1:3128',
    'none',
    'ftp://one.example',
    'http://a:%zz@b.example',
  ])('cannot be %s, and a sentence says whose fault that is', (given) => {
    expect(() => findProxy('https://a.example', { HTTPS_PROXY: given })).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message:
          'Cannot use the proxy that HTTPS_PROXY names: expected a URL such as http://proxy.example:3128.',
      }),
    );
  });

  it.each(['socks5://one.example:1080', 'socks://a:b@one.example', 'SOCKS5H://one.example'])(
    'cannot be %s, for SOCKS',
    (given) => {
      expect(() => findProxy('http://a.example', { http_proxy: given })).toThrow(
        'Cannot use the proxy that http_proxy names: it is for SOCKS, and calls go through HTTP proxies only; expected a URL such as http://proxy.example:3128.',
      );
    },
  );

  it.each([
    'http://s3cret:12/pass@one.example:3128',
    'http://a@s3cret:12/pass@one.example:3128',
    'http://s3cret:12?pass@one.example:3128',
    'http://s3cret:12#pass@one.example:3128',
    'http://s3cret:12\\pass@one.example:3128',
    'http://user:pa/s3cret@one.example:3128',
    'http://user:s3cret＠one.example:3128',
  ])('is refused, and nothing of it repeated, when a login runs into the host: %s', (url) => {
    const find = (): unknown => findProxy('http://api.example', { HTTP_PROXY: url });
    expect(find).toThrow('Cannot use the proxy that HTTP_PROXY names');
    expect(find).not.toThrow(/s3cret/);
  });

  it('is told of without its user and password', () => {
    const proxy = findProxy('http://a.example', {
      http_proxy: 'http://me:s3cret@one.example:3128',
    });
    expect(proxy && describeProxy(proxy)).toBe(
      'Calls go through the proxy at one.example:3128, which http_proxy names.',
    );
  });
});
