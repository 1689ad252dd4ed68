import { describe, expect, it } from 'vitest';
import { isAllowed, parseAllowedHost } from '../../src/common/addresses.ts';
import { findLogoUrl } from '../../src/logos/fetch-picture.ts';

function find(value: unknown, allowed: readonly string[] = []): string {
  const found = findLogoUrl(value, allowed.map(parseAllowedHost));
  return 'reason' in found ? found.reason : found.url.href;
}

describe('findLogoUrl', () => {
  it.each([
    ['https://cdn.example/a.png', 'https://cdn.example/a.png'],
    [' http://CDN.example:80/a b.png#c ', 'http://cdn.example/a%20b.png'],
    ['//cdn.example/a.png', 'https://cdn.example/a.png'],
    ['https://user:secret@cdn.example/a?b=c', 'https://cdn.example/a?b=c'],
    ['http://cdn.example:443/', 'http://cdn.example:443/'],
    [[null, '', 'https://a.example/', 'https://b.example/'], 'https://a.example/'],
    ['data:image/png;base64,AAAA', 'data:image/png;base64,AAAA'],
    ['https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
    [null, 'no_url'],
    [undefined, 'no_url'],
    ['', 'no_url'],
    [[], 'no_url'],
    [{ url: 'https://a.example/' }, 'no_url'],
    [42, 'no_url'],
    ['logo.png', 'invalid_url'],
    ['/logo.png', 'invalid_url'],
    ['cdn.example/logo.png', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://a b/', 'invalid_url'],
    ['file:///etc/passwd', 'unsupported_scheme'],
    ['ftp://a.example/a.png', 'unsupported_scheme'],
    ['javascript:alert(1)', 'unsupported_scheme'],
    ['blob:https://a.example/x', 'unsupported_scheme'],
    ['cdn.example:80/logo.png', 'unsupported_scheme'],
    ['http://a.example:22/', 'unsupported_port'],
    ['http://a.example:6379/', 'unsupported_port'],
    ['http://a.example:0/', 'unsupported_port'],
  ])('%j is %s', (value, expected) => {
    expect(find(value)).toBe(expected);
  });

  it('takes any port of a host that is allowed, or the one that is', () => {
    const url = 'http://a.example:8080/';
    expect(find(url, ['a.example'])).toBe(url);
    expect(find(url, ['a.example:8080'])).toBe(url);
    expect(find(url, ['a.example:8081', 'b.example'])).toBe('unsupported_port');
  });
});

describe('a host that is allowed', () => {
  it.each([
    ['a.example', 'a.example', undefined],
    ['A.example:80', 'a.example', 80],
    ['localhost:8080', 'localhost', 8080],
    ['10.0.0.1', '10.0.0.1', undefined],
    ['[::1]:8080', '[::1]', 8080],
    ['[::1]', '[::1]', undefined],
    ['bücher.example', 'xn--bcher-kva.example', undefined],
  ])('%s is read', (text, hostname, port) => {
    expect(parseAllowedHost(text)).toEqual({ hostname, port });
  });

  it.each(['', ' ', 'http://a.example', 'a.example/', 'a b', '*.example', 'u@a.example', ':80'])(
    "'%s' is refused",
    (text) => {
      expect(() => parseAllowedHost(text)).toThrow(/^expected HOST or HOST:PORT/);
    },
  );

  it.each(['a.example:0', 'a.example:65536', 'a.example:x', '::1', 'a,b'])('%s is, too', (text) => {
    expect(() => parseAllowedHost(text)).toThrow(/^expected HOST or HOST:PORT/);
  });

  it('is that host and no other', () => {
    const hosts = [parseAllowedHost('a.example:8080'), parseAllowedHost('b.example')];
    expect(isAllowed(hosts, { hostname: 'a.example', port: 8080 })).toBe(true);
    expect(isAllowed(hosts, { hostname: 'a.example', port: 80 })).toBe(false);
    expect(isAllowed(hosts, { hostname: 'b.example', port: 9 })).toBe(true);
    expect(isAllowed(hosts, { hostname: 'x.b.example', port: 80 })).toBe(false);
  });
});
