import type { Answer } from './answer.ts';
import { type AddressReason, isAddressReason } from './network-error.ts';

/** A kind of answer that comes from another server or another path. */
export type Misdirection =
  | 'not_found_page'
  | 'not_found_doubled'
  | 'bad_request_page'
  | 'no_json'
  | 'redirect_to_another_origin'
  | AddressReason;

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
      return isAddressReason(answer.reason) ? answer.reason : 'no_json';
    case 'try_again':
      return isAddressReason(answer.reason) ? answer.reason : undefined;
    case 'refused':
      return answer.reason === 'redirect_to_another_origin' ? answer.reason : undefined;
    default:
      return undefined;
  }
}
