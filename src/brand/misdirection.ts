import type { Answer } from './answer.ts';

/** What an answer looks like that another server, or another path, gives. */
export type Misdirection =
  | 'not_found_page'
  | 'no_json'
  | 'redirect_to_another_origin'
  | 'dns_failure'
  | 'tls_failure';

/**
 * What speaks against the address, if anything does. An honest 404 is JSON, or has no body at all;
 * a page made for people comes from a wrong path.
 */
export function misdirectionOf(answer: Answer): Misdirection | undefined {
  switch (answer.kind) {
    case 'not_found':
      return answer.isPage ? 'not_found_page' : undefined;
    case 'invalid_response':
      return 'no_json';
    case 'try_again':
      return answer.reason === 'dns_failure' || answer.reason === 'tls_failure'
        ? answer.reason
        : undefined;
    case 'refused':
      return answer.reason === 'redirect_to_another_origin' ? answer.reason : undefined;
    default:
      return undefined;
  }
}
