import { describe, expect, it } from 'vitest';
import { describeOut } from '../../../src/watch/waits.ts';

const api = 'https://api.example';
const proxy = { variable: 'https_proxy', url: new URL('http://me:s3cret@proxy.example:3128') };

describe('what is said when calls wait', () => {
  it('names the API and its address, where that may be wrong', () => {
    for (const way of [undefined, proxy]) {
      const said = describeOut({ api, proxy: way, trouble: 'connection_refused' });
      expect(said).toMatch(/^The API at https:\/\/api\.example is out \(connection_refused\): /);
      expect(said).toMatch(/check --base-url\.$/);
    }
  });

  it('thinks of TLS where an address without it is broken off', () => {
    const said = (api: string): string =>
      describeOut({ api, proxy: undefined, trouble: 'connection_reset' });
    expect(said('http://api.example')).toMatch(/check --base-url, .+ begin with https:\/\/\.$/);
    expect(said('https://api.example')).toMatch(/check --base-url\.$/);
  });

  it('thinks of a limit where a gateway may tell it with 503', () => {
    const said = (trouble: string): string => describeOut({ api, proxy: undefined, trouble });
    expect(said('http_503')).toMatch(
      /, as nginx does, that shows when .*; --rate spares the wait\.$/,
    );
    expect(said('http_500')).not.toContain('--rate');
  });

  it('names the proxy, and nothing secret, where that is at fault', () => {
    expect(describeOut({ api, proxy, trouble: 'proxy_502' })).toBe(
      'No call gets through the proxy at proxy.example:3128 (proxy_502): calls wait until one does, up to --max-outage. If none ever did, check https_proxy.',
    );
  });

  it.each([
    ['too_many_open_files', /ulimit -n/],
    ['no_local_port', /lower --concurrency/],
    ['no_route', /no route .*: check the network/],
    ['dns_unavailable', /resolver \(DNS\) did not answer: check/],
  ])('does not blame the API for %s', (trouble, advice) => {
    const said = describeOut({ api, proxy: undefined, trouble });
    expect(said).toMatch(/^No call to the API at https:\/\/api\.example can be made from here/);
    expect(said).toMatch(advice);
    expect(said).not.toContain('is out');
  });

  it('does without a reason', () => {
    expect(describeOut({ api, proxy: undefined, trouble: undefined })).toContain('is out: calls');
  });
});
