import { systemErrorCode } from '../common/errors.ts';
import { ProxyError } from './proxy.ts';

/**
 * Names why a call got no answer, in a word that goes into the failures file: `timeout`,
 * `connection_refused`, `connection_reset`, `dns_failure`, `tls_failure` or `network_error`. When
 * this machine lacked the resources to send it: `too_many_open_files` or `no_local_port`. When the
 * call failed at a proxy, the word names the proxy: `proxy_407` for its answer, `proxy_dns_failure`
 * and so on.
 */
export function describeNetworkError(error: unknown): string {
  if (error instanceof ProxyError) {
    const reason = error.httpStatus ?? describeNetworkError(error.cause);
    return isOfThisMachine(reason) ? reason : `proxy_${reason}`;
  }
  const code = codeOf(error);
  const known = REASONS[code];
  if (known) return known;
  return /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)
    ? 'tls_failure'
    : 'network_error';
}

function isOfThisMachine(reason: string | number): reason is string {
  return reason === 'too_many_open_files' || reason === 'no_local_port';
}

/** What a reason speaks about: the API, or this machine, its resolver and its proxy. */
export function aboutOf(reason: string): 'api' | 'machine' {
  return /^(too_many_open_files|no_local_port|no_route|dns_unavailable|proxy_(?!403|407|dns_failure|tls_failure).*)$/.test(
    reason,
  )
    ? 'machine'
    : 'api';
}

/** Whether the headers of an answer are longer than Node.js reads (`--max-http-header-size`). */
export function isHeadersTooLarge(error: unknown): boolean {
  return /^(HPE|UND_ERR)_HEADERS?_OVERFLOW$/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return systemErrorCode(error) ?? systemErrorCode(causeOf(error)) ?? '';
}

function causeOf(error: unknown): unknown {
  if (error instanceof AggregateError) return error.errors[0];
  return error instanceof Error ? error.cause : undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  HPE_INVALID_CONSTANT: 'network_error',
  EMFILE: 'too_many_open_files',
  ENFILE: 'too_many_open_files',
  EADDRNOTAVAIL: 'no_local_port',
  ENOBUFS: 'no_local_port',
  ENOTFOUND: 'dns_failure',
  EAI_AGAIN: 'dns_unavailable',
  ENETUNREACH: 'no_route',
  EHOSTUNREACH: 'no_route',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};
