import { systemErrorCode } from '../common/errors.ts';
import { ProxyError } from './proxy.ts';

/**
 * What a failed call speaks about.
 *
 * - `api`: the API is away or slow.
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
  /** The codes of errors of Node.js, OpenSSL and undici that have this reason. */
  readonly codes?: RegExp;
  /** The call never reached the API, so that nothing is billed for it. @default of all about this machine */
  readonly isUnsent?: true;
}

/** Every reason. Those at a proxy that are not listed are about this machine. */
export const FAILURES = {
  timeout: {
    about: 'api',
    what: 'no answer came in time',
    check: 'give it longer (--timeout), or fewer calls at once (--concurrency)',
    codes: /^(ETIMEDOUT|UND_ERR_\w+_TIMEOUT)$/,
  },
  connection_refused: {
    about: 'api',
    isUnsent: true,
    what: 'the connection was refused',
    check: 'check --base-url, and whether the API is up',
    codes: /^ECONNREFUSED$/,
  },
  connection_reset: {
    about: 'api',
    what: 'the connection was broken off before there was an answer',
    check: 'check --base-url, and whether the API is up',
    codes: /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/,
  },
  network_error: {
    about: 'api',
    what: 'there was no connection to the API',
    check: 'check --base-url, and whether the API is up',
  },
  too_many_open_files: {
    about: 'machine',
    what: 'too many files are open here',
    check: 'make fewer calls at once (--concurrency), or raise the limit (ulimit -n)',
    codes: /^E[MN]FILE$/,
  },
  no_local_port: {
    about: 'machine',
    what: 'no port of this machine is left for a connection',
    check:
      'make fewer calls at once (--concurrency), or check --base-url if no connection was ever made',
    codes: /^(EADDRNOTAVAIL|ENOBUFS|ENOMEM)$/,
  },
  no_route: {
    about: 'machine',
    what: 'this machine has no route to the API',
    check: 'check the network, and --base-url if no call ever got through',
    codes: /^E(NET|HOST)(UNREACH|DOWN)$/,
  },
  dns_unavailable: {
    about: 'machine',
    what: 'the name of the API could not be looked up, because the resolver (DNS) did not answer',
    check: 'check the network and the resolver of this machine',
    codes: /^EAI_AGAIN$/,
  },
  dns_failure: {
    about: 'address',
    isUnsent: true,
    what: "the API's name is not known (DNS)",
    check: 'check --base-url and the network',
    codes: /^(ENOTFOUND|ENODATA|EAI_NODATA|EAI_FAIL)$/,
  },
  tls_failure: {
    about: 'address',
    isUnsent: true,
    what: "the API's certificate was not accepted, or there is no TLS that both sides speak (or none at all: then it is http://)",
    check:
      'check --base-url, the clock, and NODE_EXTRA_CA_CERTS for a certificate authority of your own',
    codes: /^(EPROTO$|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/,
  },
  invalid_http: {
    about: 'address',
    what: 'an answer came that is no HTTP/1.1 and cannot be read',
    check: 'check --base-url, for one its port, and ask the makers of the API',
    codes: /^(HPE_|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)/,
  },
  unknown_content_encoding: {
    about: 'address',
    what: 'the answer has a content encoding that is not known here, and gzip and br were asked for',
    check: 'ask the makers of the API, or whoever runs the proxy in front of it',
  },
  unknown_charset: {
    about: 'address',
    what: 'the answer is not in the charset that it names, which is UTF-8 if it names none',
    check: 'ask the makers of the API for UTF-8',
  },
  proxy_403: {
    about: 'address',
    isUnsent: true,
    what: 'the call was refused by the proxy (403)',
    check: 'ask for the API to be let through, or name it in NO_PROXY',
  },
  proxy_407: {
    about: 'address',
    isUnsent: true,
    what: 'the call was refused by the proxy (407)',
    check: 'check the user and the password in HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_dns_failure: {
    about: 'address',
    isUnsent: true,
    what: "the proxy's name is not known (DNS)",
    check: 'check HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_tls_failure: {
    about: 'address',
    isUnsent: true,
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

/** Whether a call without an answer never reached the API, so that nothing is billed for it. */
export function isUnsent(reason: string): boolean {
  return wordsOf(reason)?.isUnsent === true || aboutOf(reason) === 'machine';
}

/** What people are told of a reason; undefined for one that is not of the network. */
function wordsOf(reason: NetworkReason): NetworkReasonWords;
function wordsOf(reason: string): NetworkReasonWords | undefined;
function wordsOf(reason: string): NetworkReasonWords | undefined {
  return Object.hasOwn(FAILURES, reason) ? FAILURES[reason as NetworkReason] : undefined;
}

/** The same in a sentence. */
export function sentenceOn(reason: NetworkReason): string;
export function sentenceOn(reason: string): string | undefined;
export function sentenceOn(reason: string): string | undefined {
  const words = wordsOf(reason);
  return words && `${words.what.charAt(0).toUpperCase()}${words.what.slice(1)}: ${words.check}.`;
}

function proxyReasonOf({ httpStatus, cause }: ProxyError): string {
  if (httpStatus !== undefined) return `proxy_${httpStatus}`;
  const reason = reasonOf(cause);
  // The want of a descriptor or a port is not the fault of the proxy.
  const isHere = reason === 'too_many_open_files' || reason === 'no_local_port';
  return isHere ? reason : `proxy_${reason}`;
}

/**
 * The reason of an error. Of the errors of several addresses the first counts that is not about
 * this machine: that it has no route for IPv6 is nothing new.
 */
function reasonOf(error: unknown): NetworkReason {
  if (error instanceof AggregateError) {
    const reasons = error.errors.map(reasonOf);
    const [first = 'network_error'] = reasons;
    return reasons.find((reason) => FAILURES[reason].about !== 'machine') ?? first;
  }
  const code = systemErrorCode(error) ?? (isOfParser(error) ? 'HPE_' : undefined);
  if (code === undefined) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause === undefined ? 'network_error' : reasonOf(cause);
  }
  const found = Object.entries<NetworkReasonWords>(FAILURES).find(([, { codes }]) =>
    codes?.test(code),
  );
  return (found?.[0] as NetworkReason | undefined) ?? 'network_error';
}

/** What undici's parser refuses has a code now and then. */
function isOfParser(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}
