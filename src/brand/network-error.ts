import { systemErrorCode } from '../common/errors.ts';
import { ProxyError } from './connections.ts';

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

/** What is known of a reason. */
export interface NetworkReasonWords {
  readonly about: About;
  /** A clause that says what happened, without a full stop. */
  readonly what: string;
  /** A clause that says what to do about it, without a full stop. */
  readonly check: string;
  /** The codes of errors of Node.js and undici that have this reason. */
  readonly codes?: readonly string[];
  /**
   * Reasons of OpenSSL, as they stand in the code of an error (`ERR_SSL_…`) or, with spaces, in the
   * message of `EPROTO`. The first that fits counts.
   */
  readonly tls?: RegExp;
}

/** Every reason. Those at a proxy that are not listed are about this machine. */
const FAILURES = {
  timeout: {
    about: 'api',
    what: 'no answer came within --timeout',
    check: 'give it longer, or fewer calls at once (--concurrency)',
    codes: [
      'ETIMEDOUT',
      'UND_ERR_CONNECT_TIMEOUT',
      'UND_ERR_HEADERS_TIMEOUT',
      'UND_ERR_BODY_TIMEOUT',
    ],
  },
  connection_refused: {
    about: 'api',
    what: 'the connection was refused',
    check: 'check --base-url, and whether the API is up',
    codes: ['ECONNREFUSED'],
  },
  connection_reset: {
    about: 'api',
    what: 'the connection was broken off before there was an answer',
    check: 'check --base-url, and whether the API is up',
    codes: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'],
  },
  network_error: {
    about: 'api',
    what: 'there was no connection to the API',
    check: 'check --base-url, and whether the API is up',
  },
  too_many_open_files: {
    about: 'machine',
    what: 'too many files are open here',
    check: 'lower --concurrency, or raise the limit (ulimit -n)',
    codes: ['EMFILE', 'ENFILE'],
  },
  no_local_port: {
    about: 'machine',
    what: 'no port of this machine is left for a connection',
    check: 'lower --concurrency, or check --base-url if no connection was ever made',
    codes: ['EADDRNOTAVAIL', 'ENOBUFS'],
  },
  no_route: {
    about: 'machine',
    what: 'this machine has no route to the API',
    check: 'check the network, and --base-url if no call ever got through',
    codes: ['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EHOSTDOWN'],
  },
  dns_unavailable: {
    about: 'machine',
    what: 'the name of the API could not be looked up, because the resolver (DNS) did not answer',
    check: 'check the network and the resolver of this machine',
    codes: ['EAI_AGAIN'],
  },
  dns_failure: {
    about: 'address',
    what: "the API's name is not known (DNS)",
    check: 'check --base-url and the network',
    codes: ['ENOTFOUND', 'ENODATA', 'EAI_NODATA', 'EAI_FAIL'],
  },
  http2_only: {
    about: 'address',
    what: 'the API speaks HTTP/2 only, and calls are made with HTTP/1.1',
    check: 'check --base-url, or put a proxy in front that speaks both',
    codes: ['HTTP2_ONLY'],
    tls: /NO_APPLICATION_PROTOCOL/,
  },
  client_certificate_required: {
    about: 'address',
    what: 'the API wants a client certificate, which cannot be given here',
    check: 'put a proxy in front that has one, and give its address as --base-url',
    tls: /ALERT_CERTIFICATE_REQUIRED|ALERT_(BAD|NO)_CERTIFICATE/,
  },
  tls_too_old: {
    about: 'address',
    what: 'the API speaks only a version of TLS that is too old or too weak',
    check: 'check --base-url, and ask the makers of the API for TLS 1.2 or later',
    tls: /UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION|WRONG_SSL_VERSION|NO_PROTOCOLS_AVAILABLE|DH_KEY_TOO_SMALL|UNSAFE_LEGACY_RENEGOTIATION|INSUFFICIENT_SECURITY/,
  },
  tls_refused: {
    about: 'address',
    what: 'the API broke off the TLS handshake, for want of a client certificate, a cipher or a host name that it accepts',
    check: 'check --base-url, and ask the makers of the API what it demands',
    tls: /ALERT_HANDSHAKE_FAILURE|UNRECOGNIZED_NAME/,
  },
  tls_failure: {
    about: 'address',
    what: "the API's certificate was not accepted, or there is no TLS (then it is http://)",
    check:
      'check --base-url, the clock, and NODE_EXTRA_CA_CERTS for a certificate authority of your own',
    codes: ['EPROTO'],
    tls: /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/,
  },
  invalid_http: {
    about: 'address',
    what: 'an answer came that is no HTTP/1.1 and cannot be read',
    check: 'check --base-url, for one its port, and ask the makers of the API',
    codes: ['INVALID_HTTP'],
  },
  unknown_content_encoding: {
    about: 'address',
    what: 'the answer has a content encoding that is not known here, and gzip and br were asked for',
    check: 'ask the makers of the API, or whoever runs the proxy in front of it',
  },
  unknown_charset: {
    about: 'address',
    what: 'the answer is in a charset that is not known here',
    check: 'ask the makers of the API for UTF-8',
  },
  proxy_403: {
    about: 'address',
    what: 'the call was refused by the proxy (403)',
    check: 'ask for the API to be let through, or name it in NO_PROXY',
  },
  proxy_407: {
    about: 'address',
    what: 'the call was refused by the proxy (407)',
    check: 'check the user and the password in HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_dns_failure: {
    about: 'address',
    what: "the proxy's name is not known (DNS)",
    check: 'check HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_tls_failure: {
    about: 'address',
    what: 'the TLS of the proxy failed',
    check: 'check the scheme in HTTP_PROXY or HTTPS_PROXY, and NODE_EXTRA_CA_CERTS',
  },
  proxy_connection_refused: {
    about: 'machine',
    what: 'the proxy refused the connection',
    check: 'check HTTP_PROXY or HTTPS_PROXY, and whether the proxy is up',
  },
} as const satisfies Readonly<Record<string, NetworkReasonWords>>;

/** A reason of the table. */
export type NetworkReason = keyof typeof FAILURES;

/** A reason that in the first calls is a sign of a wrong address or setting. */
export type AddressReason = {
  [K in NetworkReason]: (typeof FAILURES)[K]['about'] extends 'address' ? K : never;
}[NetworkReason];

/**
 * Names why a call got no answer, and what that speaks about. When the call failed at a proxy, the
 * reason names the proxy: `proxy_407` for its answer, `proxy_dns_failure` and so on.
 */
export function classifyNetworkError(error: unknown): NetworkFailure {
  const reason = error instanceof ProxyError ? proxyReasonOf(error) : reasonOf(error);
  return { reason, about: aboutOf(reason) };
}

/** The word for why a call got no answer: `classifyNetworkError(error).reason`. */
export function describeNetworkError(error: unknown): string {
  return classifyNetworkError(error).reason;
}

/** What a reason speaks about. A reason that is not of the network is about the API. */
export function aboutOf(reason: string): About {
  return wordsOf(reason)?.about ?? (reason.startsWith('proxy_') ? 'machine' : 'api');
}

/** Whether a reason in the first calls is a sign of a wrong address or setting. */
export function isAddressReason(reason: string): reason is AddressReason {
  return aboutOf(reason) === 'address';
}

/** What people are told of a reason; undefined for one that is not of the network. */
export function wordsOf(reason: NetworkReason): NetworkReasonWords;
export function wordsOf(reason: string): NetworkReasonWords | undefined;
export function wordsOf(reason: string): NetworkReasonWords | undefined {
  return Object.hasOwn(FAILURES, reason) ? FAILURES[reason as NetworkReason] : undefined;
}

/** The same in a sentence. */
export function sentenceOn(reason: NetworkReason): string;
export function sentenceOn(reason: string): string | undefined;
export function sentenceOn(reason: string): string | undefined {
  const words = wordsOf(reason);
  return words && `${words.what.charAt(0).toUpperCase()}${words.what.slice(1)}: ${words.check}.`;
}

/** Whether the headers of an answer are longer than Node.js reads (`--max-http-header-size`). */
export function isHeadersTooLarge(error: unknown): boolean {
  return /^(HPE|UND_ERR)_HEADERS?_OVERFLOW$/.test(codeOf(error));
}

function proxyReasonOf({ httpStatus, cause }: ProxyError): string {
  if (httpStatus !== undefined) return `proxy_${httpStatus}`;
  const reason = reasonOf(cause);
  // The want of a descriptor or a port is not the fault of the proxy.
  if (reason === 'too_many_open_files' || reason === 'no_local_port') return reason;
  const isOfTls = /^(tls_|client_certificate|http2)/.test(reason);
  return isOfTls ? 'proxy_tls_failure' : `proxy_${reason}`;
}

/**
 * The reason of an error. Of the errors of several addresses the first counts that is not about
 * this machine: that it has no route for IPv6 is nothing new.
 */
function reasonOf(error: unknown): NetworkReason {
  if (error instanceof AggregateError) {
    const reasons = error.errors.map(reasonOf);
    return (
      reasons.find((reason) => FAILURES[reason].about !== 'machine') ??
      reasons[0] ??
      'network_error'
    );
  }
  const code = systemErrorCode(error);
  if (code === undefined) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause === undefined ? 'network_error' : reasonOf(cause);
  }
  const message = code === 'EPROTO' && error instanceof Error ? error.message : '';
  const text = `${code} ${message.toUpperCase().replaceAll(' ', '_')}`;
  return (
    findReason(({ tls }) => tls?.test(text) ?? false) ??
    findReason(({ codes }) => codes?.includes(code) ?? false) ??
    'network_error'
  );
}

function findReason(fits: (words: NetworkReasonWords) => boolean): NetworkReason | undefined {
  const found = Object.entries<NetworkReasonWords>(FAILURES).find(([, words]) => fits(words));
  return found?.[0] as NetworkReason | undefined;
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return systemErrorCode(error) ?? systemErrorCode(cause) ?? '';
}
