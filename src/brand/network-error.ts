import { systemErrorCode } from '../common/errors.ts';

/**
 * Names why a call got no answer, in a word that goes into the failures file: `timeout`,
 * `connection_refused`, `connection_reset`, `dns_failure`, `tls_failure` or `network_error`.
 */
export function describeNetworkError(error: unknown): string {
  const code = systemErrorCode(error) ?? systemErrorCode(causeOf(error)) ?? '';
  const known = REASONS[code];
  if (known) return known;
  return /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)
    ? 'tls_failure'
    : 'network_error';
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
  ENOTFOUND: 'dns_failure',
  EAI_AGAIN: 'dns_failure',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};
