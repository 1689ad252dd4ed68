import type { Answer } from './answer.ts';

/** Network errors that do not pass by themselves, because the address or the proxy is wrong. */
const DEAD_ENDS = [
  'dns_failure',
  'tls_failure',
  'proxy_403',
  'proxy_407',
  'proxy_dns_failure',
  'proxy_tls_failure',
] as const;

/** A kind of answer that comes from another server or another path. */
export type Misdirection =
  | 'not_found_page'
  | 'not_found_doubled'
  | 'bad_request_page'
  | 'no_json'
  | 'redirect_to_another_origin'
  /** 200 with one body for different domains. */
  | 'same_answer'
  /** A redirect to an address without the domain. */
  | 'lost_domain'
  /** A refusal that is a page for people, such as a check for bots shows. */
  | 'bot_wall'
  /** An answer came that cannot be read as HTTP. */
  | 'invalid_http'
  | 'unknown_content_encoding'
  | 'unknown_charset'
  /** The server speaks HTTP/2 alone. */
  | 'http2_only'
  /** The server speaks only versions of TLS that are not safe any more. */
  | 'tls_too_old'
  | 'client_certificate_required'
  | (typeof DEAD_ENDS)[number];

/**
 * The sign in an answer that the address is wrong, if any. A 404 of the API is JSON or has no body.
 * A page for people comes from a wrong path, or with 400 from a port that wants TLS. When the path
 * has `/v1` twice, any 404 is a sign.
 */
export function misdirectionOf(answer: Answer): Misdirection | undefined {
  switch (answer.kind) {
    case 'not_found':
      if (answer.isDoubled) return 'not_found_doubled';
      return answer.isPage ? 'not_found_page' : undefined;
    case 'rejected':
      return answer.isPage && answer.httpStatus === 400 ? 'bad_request_page' : undefined;
    case 'invalid_response':
      return 'no_json';
    case 'try_again':
      return DEAD_ENDS.find((reason) => reason === answer.reason);
    case 'refused':
      return answer.reason === 'redirect_to_another_origin' ? answer.reason : undefined;
    default:
      return undefined;
  }
}
