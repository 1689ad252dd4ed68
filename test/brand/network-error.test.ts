import { describe, expect, it } from 'vitest';
import { describeNetworkError } from '../../src/brand/network-error.ts';
import { ProxyError } from '../../src/brand/proxy.ts';

function errorOf(code: string): Error {
  return Object.assign(new Error('failed'), { code });
}

describe('describeNetworkError', () => {
  it.each([
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'connection_reset'],
    ['EPIPE', 'connection_reset'],
    ['UND_ERR_SOCKET', 'connection_reset'],
    ['ENOTFOUND', 'dns_failure'],
    ['EAI_AGAIN', 'dns_failure'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['EMFILE', 'too_many_open_files'],
    ['ENFILE', 'too_many_open_files'],
    ['EADDRNOTAVAIL', 'no_local_port'],
    ['ENOBUFS', 'no_local_port'],
    ['CERT_HAS_EXPIRED', 'tls_failure'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_failure'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_failure'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_failure'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_failure'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failure'],
    ['EHOSTUNREACH', 'network_error'],
    ['HPE_INVALID_CONSTANT', 'network_error'],
  ])('calls %s %s', (code, reason) => {
    expect(describeNetworkError(errorOf(code))).toBe(reason);
  });

  it('looks at the cause, and at the first of several errors', () => {
    const cause = errorOf('ENOTFOUND');
    expect(describeNetworkError(new Error('failed', { cause }))).toBe('dns_failure');
    expect(describeNetworkError(new AggregateError([cause, errorOf('EPIPE')]))).toBe('dns_failure');
  });

  it('blames a proxy for what went wrong there, but not for want of room here', () => {
    const describe = (cause: Error) => describeNetworkError(new ProxyError(undefined, { cause }));
    expect(describeNetworkError(new ProxyError(407))).toBe('proxy_407');
    expect(describe(errorOf('ECONNREFUSED'))).toBe('proxy_connection_refused');
    expect(describe(errorOf('EMFILE'))).toBe('too_many_open_files');
  });

  it.each([undefined, null, 'ECONNREFUSED', new Error('failed'), { code: 'ECONNREFUSED' }])(
    'has a word for what says nothing: %s',
    (error) => {
      expect(describeNetworkError(error)).toBe('network_error');
    },
  );
});
