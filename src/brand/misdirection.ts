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

/** The sign in the reason of a call without an answer that the address is wrong, if any. */
export function deadEndOf(reason: string): Misdirection | undefined {
  return DEAD_ENDS.find((deadEnd) => deadEnd === reason);
}
