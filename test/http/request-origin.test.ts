import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { parseAllowedHost } from '../../src/common/addresses.ts';
import { ADDRESS_RANGES } from '../../src/options/kinds.ts';
import {
  createAddressFinder,
  createHostCheck,
  isFromOurPage,
  isKnownHost,
  isLocalAddress,
} from '../../src/web/listener.ts';

describe('isLocalAddress', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['localhost.example.com', false],
  ])('of %s is %j', (host, expected) => {
    expect(isLocalAddress(host)).toBe(expected);
  });
});

describe('a host that is known', () => {
  const allowed = [parseAllowedHost('worker'), parseAllowedHost('dash.example.com:8443')];

  it.each([
    ['localhost:8080', true],
    ['LOCALHOST', true],
    ['127.0.0.1:8080', true],
    ['10.0.0.7:9464', true],
    ['[::1]:8080', true],
    ['[2001:db8::7]', true],
    ['worker', true],
    ['Worker:9464', true],
    ['dash.example.com:8443', true],
    ['dash.example.com', false],
    ['rebound.example.com:8080', false],
    ['worker.example.com', false],
    ['127.0.0.1.example.com', false],
    ['localhost.example.com', false],
    ['localhost@rebound.example.com', false],
    ['rebound.example.com/localhost', false],
    ['localhost:x', false],
    ['', false],
  ])('is %s: %j', (host, expected) => {
    expect(isKnownHost(host, allowed)).toBe(expected);
  });

  it('is all that gets an answer, and others hear which setting allows them', async () => {
    const app = new Hono().use(createHostCheck(allowed, '--allow-host'));
    app.get('/metrics', (context) => context.text('secrets'));
    const ask = async (host: string): Promise<readonly [number, string]> => {
      const answer = await app.request('/metrics', { headers: { host } });
      return [answer.status, await answer.text()];
    };
    expect(await ask('worker:9464')).toEqual([200, 'secrets']);
    const [status, text] = await ask('rebound.example.com');
    expect(status).toBe(421);
    expect(text).toContain('--allow-host');
    expect(text).not.toContain('secrets');
  });
});

describe('the address that a request comes from', () => {
  const find = (
    remoteAddress: string,
    forwarded: string | undefined,
    trusted: readonly string[],
  ): string | undefined => {
    let found: string | undefined;
    const finder = createAddressFinder(ADDRESS_RANGES.parse(trusted));
    const app = new Hono().get('/', (context) => {
      found = finder(context);
      return context.text('');
    });
    const headers: Record<string, string> =
      forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    void app.request('/', { headers }, { incoming: { socket: { remoteAddress } } });
    return found;
  };

  it.each([
    ['nobody is trusted', '127.0.0.1', '203.0.113.9', [], '127.0.0.1'],
    ['a stranger says so', '198.51.100.4', '203.0.113.9', ['127.0.0.1'], '198.51.100.4'],
    ['a proxy says so', '127.0.0.1', '203.0.113.9', ['127.0.0.1'], '203.0.113.9'],
    [
      'the socket has both families',
      '::ffff:127.0.0.1',
      '203.0.113.9',
      ['127.0.0.1'],
      '203.0.113.9',
    ],
    [
      'the client made up the first',
      '127.0.0.1',
      '8.8.8.8, 203.0.113.9',
      ['127.0.0.1'],
      '203.0.113.9',
    ],
    [
      'two proxies are trusted',
      '127.0.0.1',
      '203.0.113.9, 10.1.2.3',
      ['127.0.0.1', '10.0.0.0/8'],
      '203.0.113.9',
    ],
    ['all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', ['10.0.0.0/8'], '10.0.0.3'],
    ['the proxy says nothing', '127.0.0.1', undefined, ['127.0.0.1'], '127.0.0.1'],
    ['the proxy says nonsense', '127.0.0.1', '203.0.113.9, unknown', ['127.0.0.1'], '127.0.0.1'],
    ['it is an IPv6 network', 'fd00::1', '2001:db8:1:2:3::4', ['fd00::/8'], '2001:db8:1:2'],
  ])('where %s', (_, remote, forwarded, trusted, expected) => {
    expect(find(remote, forwarded, trusted)).toBe(expected);
  });

  it.each(['localhost', '10.0.0.0/33', '::/129', '10.1', '1/8', '10.0.0.0/', '10.0.0.1/8/8'])(
    'is not read from the range %j',
    (text) => {
      expect(() => ADDRESS_RANGES.parse(text)).toThrow('expected an address such as 127.0.0.1');
    },
  );
});

describe('isFromOurPage', () => {
  const host = 'dash.example.com:8080';
  it.each([
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'same-origin' }, true],
    [{ host, origin: 'http://dash.example.com:8080' }, true],
    [{ host: 'dash.example.com', origin: 'https://dash.example.com' }, true],
    [{ host, origin: 'http://dash.example.com' }, false],
    [{ host, origin: 'http://evil.example.com', fetchSite: 'cross-site' }, false],
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'same-site' }, false],
    [
      { host: 'localhost:8080', origin: 'https://dash.example.com', fetchSite: 'same-origin' },
      true,
    ],
    [{ host: 'localhost:8080', origin: 'https://dash.example.com' }, false],
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'none' }, false],
    [{ host, origin: 'null' }, false],
    [{ host, fetchSite: 'same-origin' }, true],
    [{ host }, false],
    [{ origin: 'http://dash.example.com:8080' }, false],
  ])('of %j is %j', (headers, expected) => {
    expect(isFromOurPage(headers)).toBe(expected);
  });
});
