import { systemErrorCode } from '../common/errors.ts';
import { aboutOf, type Reason, type ReasonAbout } from '../common/reasons.ts';
import { ProxyError } from './proxy.ts';

/** The codes of errors of Node.js, OpenSSL and undici that have a reason. */
const CODES: readonly (readonly [NetworkReason, RegExp])[] = [
  ['timeout', /^(ETIMEDOUT|UND_ERR_\w+_TIMEOUT)$/],
  ['connection_refused', /^ECONNREFUSED$/],
  ['connection_reset', /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/],
  ['too_many_open_files', /^E[MN]FILE$/],
  ['no_local_port', /^(EADDRNOTAVAIL|ENOBUFS|ENOMEM)$/],
  ['no_route', /^E(NET|HOST)(UNREACH|DOWN)$/],
  ['dns_unavailable', /^EAI_AGAIN$/],
  ['dns_failure', /^(ENOTFOUND|ENODATA|EAI_NODATA|EAI_FAIL)$/],
  ['tls_failure', /^(EPROTO$|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/],
  ['invalid_http', /^(HPE_|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)/],
];

type NetworkReason = ReasonAbout<'api' | 'machine' | 'address'>;

/**
 * Names why a call got no answer. When the call failed at a proxy, the
 * reason names the proxy: `proxy_407` for its answer, `proxy_dns_failure` and so on.
 */
export function describeNetworkError(error: unknown): Reason {
  return error instanceof ProxyError ? proxyReasonOf(error) : reasonOf(error);
}

function proxyReasonOf({ httpStatus, cause }: ProxyError): Reason {
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
    return reasons.find((reason) => aboutOf(reason) !== 'machine') ?? first;
  }
  const code = systemErrorCode(error) ?? (isOfParser(error) ? 'HPE_' : undefined);
  if (code === undefined) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause === undefined ? 'network_error' : reasonOf(cause);
  }
  return CODES.find(([, codes]) => codes.test(code))?.[0] ?? 'network_error';
}

/** What undici's parser refuses has a code now and then. */
function isOfParser(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}
