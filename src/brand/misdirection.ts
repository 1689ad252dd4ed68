import type { AddressReason } from './network-error.ts';

/** A sign that an answer comes from another server or another path. */
export type Misdirection =
  | 'not_found_page'
  | 'not_found_doubled'
  | 'bad_request_page'
  /** A refusal that is a page for people, such as a check for bots shows. */
  | 'bot_wall'
  | 'no_json'
  /** 200 with one body for different domains. */
  | 'same_answer'
  /** A redirect to an address without the domain. */
  | 'lost_domain'
  | 'redirect_to_another_origin'
  | AddressReason;
