import { describe, expect, it } from 'vitest';
import {
  aboutOf,
  classifyNetworkError,
  describeNetworkError,
} from '../../src/brand/network-error.ts';
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
    ['EAI_AGAIN', 'dns_unavailable'],
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
    ['EHOSTUNREACH', 'no_route'],
    ['ENETUNREACH', 'no_route'],
    ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'http2_only'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'tls_too_old'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'tls_too_old'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client_certificate_required'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls_refused'],
    ['HPE_INVALID_CONSTANT', 'network_error'],
  ])('calls %s %s', (code, reason) => {
    expect(describeNetworkError(errorOf(code))).toBe(reason);
  });

  it('reads the reason of OpenSSL out of the message of EPROTO', () => {
    const message =
      'write EPROTO 40:error:0A00042E:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:rec_layer_s3.c:1605:';
    const error = Object.assign(new Error(message), { code: 'EPROTO' });
    expect(describeNetworkError(error)).toBe('tls_too_old');
  });

  it('passes over an address family without a route', () => {
    const errors = [errorOf('ENETUNREACH'), errorOf('ECONNREFUSED')];
    const error = Object.assign(new AggregateError(errors), { code: 'ENETUNREACH' });
    expect(describeNetworkError(error)).toBe('connection_refused');
  });

  it.each([
    [errorOf('ECONNREFUSED'), 'api'],
    [errorOf('EMFILE'), 'machine'],
    [errorOf('ENETUNREACH'), 'machine'],
    [errorOf('EAI_AGAIN'), 'machine'],
    [errorOf('ENOTFOUND'), 'address'],
    [errorOf('CERT_HAS_EXPIRED'), 'address'],
    [new ProxyError(undefined, { cause: errorOf('ECONNREFUSED') }), 'machine'],
    [new ProxyError(502), 'machine'],
    [new ProxyError(407), 'address'],
    [new ProxyError(undefined, { cause: errorOf('ENOTFOUND') }), 'address'],
  ])('tells what an error is about: %s', (error, about) => {
    expect(classifyNetworkError(error).about).toBe(about);
  });

  it('takes a reason that is not of the network to be about the API', () => {
    expect([aboutOf('http_503'), aboutOf('toString')]).toEqual(['api', 'api']);
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
