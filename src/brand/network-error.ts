import { systemErrorCode } from '../common/errors.ts';
import { ProxyError } from './proxy.ts';

/**
 * What a failed call speaks about.
 *
 * - `api`: the API is away or slow. It is tried again, and the circuit breaker hears of it.
 * - `machine`: the cause lies on this machine or at its proxy or resolver. Other machines may well
 *   reach the API.
 * - `address`: what was reached is not what was meant, or cannot be spoken with. In the first calls
 *   a sign that the address or a setting is wrong.
 */
export type About = 'api' | 'machine' | 'address';

/** Why a call got no answer. */
export interface NetworkFailure {
  /** A word for the failures file, such as `connection_refused` or `proxy_407`. */
  readonly reason: string;
  readonly about: About;
}

/** What each reason speaks about. Those at a proxy begin with `proxy_` and are not listed here. */
const ABOUT = {
  timeout: 'api',
  connection_refused: 'api',
  connection_reset: 'api',
  network_error: 'api',
  too_many_open_files: 'machine',
  no_local_port: 'machine',
  no_route: 'machine',
  dns_unavailable: 'machine',
  dns_failure: 'address',
  tls_failure: 'address',
  tls_refused: 'address',
  tls_too_old: 'address',
  client_certificate_required: 'address',
  http2_only: 'address',
  invalid_http: 'address',
  unknown_content_encoding: 'address',
  unknown_charset: 'address',
} as const satisfies Readonly<Record<string, About>>;

/** A reason that is not about a proxy. */
export type NetworkReason = keyof typeof ABOUT;

/** The reason of each code of an error. */
const REASONS: Readonly<Record<string, NetworkReason>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  EMFILE: 'too_many_open_files',
  ENFILE: 'too_many_open_files',
  EADDRNOTAVAIL: 'no_local_port',
  ENOBUFS: 'no_local_port',
  ENETUNREACH: 'no_route',
  EHOSTUNREACH: 'no_route',
  ENETDOWN: 'no_route',
  EHOSTDOWN: 'no_route',
  EAI_AGAIN: 'dns_unavailable',
  ENOTFOUND: 'dns_failure',
  ENODATA: 'dns_failure',
  EAI_NODATA: 'dns_failure',
  EAI_FAIL: 'dns_failure',
  EPROTO: 'tls_failure',
  INVALID_HTTP: 'invalid_http',
  HTTP2_ONLY: 'http2_only',
};

/**
 * Reasons of OpenSSL, as they stand in the code of an error (`ERR_SSL_…`) or, with spaces, in the
 * message of `EPROTO`. The first that fits counts.
 */
const TLS_REASONS: readonly (readonly [RegExp, NetworkReason])[] = [
  [/NO_APPLICATION_PROTOCOL/, 'http2_only'],
  [/ALERT_CERTIFICATE_REQUIRED|ALERT_(BAD|NO)_CERTIFICATE/, 'client_certificate_required'],
  [
    /UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION|WRONG_SSL_VERSION|NO_PROTOCOLS_AVAILABLE|DH_KEY_TOO_SMALL|UNSAFE_LEGACY_RENEGOTIATION|INSUFFICIENT_SECURITY/,
    'tls_too_old',
  ],
  [/ALERT_HANDSHAKE_FAILURE|UNRECOGNIZED_NAME/, 'tls_refused'],
  [/^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/, 'tls_failure'],
];

/** Refusals of a proxy that do not pass by themselves. */
const PROXY_ADDRESS = /^(403|407|dns_failure|(tls|client_certificate|http2|invalid_http).*)$/;

/**
 * Names why a call got no answer, and what that speaks about. When the call failed at a proxy, the
 * reason names the proxy: `proxy_407` for its answer, `proxy_dns_failure` and so on.
 */
export function classifyNetworkError(error: unknown): NetworkFailure {
  if (error instanceof ProxyError) {
    if (error.httpStatus === undefined) {
      const { reason, about } = classifyNetworkError(error.cause);
      // The want of a descriptor or a port is not the fault of the proxy.
      if (/^(too_many_open_files|no_local_port)$/.test(reason)) return { reason, about };
      return failureOf(`proxy_${reason}`);
    }
    return failureOf(`proxy_${error.httpStatus}`);
  }
  return failureOf(reasonOf(error));
}

/** The word for why a call got no answer: `classifyNetworkError(error).reason`. */
export function describeNetworkError(error: unknown): string {
  return classifyNetworkError(error).reason;
}

/** What a reason speaks about. A reason that is not of the network is about the API. */
export function aboutOf(reason: string): About {
  const [, atProxy] = /^proxy_(.*)$/.exec(reason) ?? [];
  if (atProxy !== undefined) return PROXY_ADDRESS.test(atProxy) ? 'address' : 'machine';
  return Object.hasOwn(ABOUT, reason) ? ABOUT[reason as NetworkReason] : 'api';
}

/** Whether the headers of an answer are longer than Node.js reads (`--max-http-header-size`). */
export function isHeadersTooLarge(error: unknown): boolean {
  return /^(HPE|UND_ERR)_HEADERS?_OVERFLOW$/.test(codeOf(error));
}

function failureOf(reason: string): NetworkFailure {
  return { reason, about: aboutOf(reason) };
}

/**
 * The reason of an error. Of the errors of several addresses the first counts that is not about
 * this machine: that it has no route for IPv6 is nothing new.
 */
function reasonOf(error: unknown): NetworkReason {
  if (error instanceof AggregateError) {
    const reasons = error.errors.map(reasonOf);
    return reasons.find((reason) => ABOUT[reason] !== 'machine') ?? reasons[0] ?? 'network_error';
  }
  const code = systemErrorCode(error);
  if (code === undefined) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause === undefined ? 'network_error' : reasonOf(cause);
  }
  const message = code === 'EPROTO' && error instanceof Error ? error.message : '';
  const text = `${code} ${message.toUpperCase().replaceAll(' ', '_')}`;
  const [, ofTls] = TLS_REASONS.find(([pattern]) => pattern.test(text)) ?? [];
  return ofTls ?? REASONS[code] ?? 'network_error';
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return systemErrorCode(error) ?? systemErrorCode(cause) ?? '';
}
