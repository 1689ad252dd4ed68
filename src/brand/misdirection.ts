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
  | 'bot_wall'
  | 'no_json'
  | 'same_answer'
  | 'lost_domain'
  | 'redirect_to_another_origin'
  | (typeof DEAD_ENDS)[number];

/** The sign in the reason of a call without an answer that the address is wrong, if any. */
export function deadEndOf(reason: string): Misdirection | undefined {
  return DEAD_ENDS.find((deadEnd) => deadEnd === reason);
}
