import type { AddressReason } from './network-error.ts';

/**
 * How a lookup ended. `pending`: the API has accepted the lookup, and had no answer ready for as
 * long as it was asked again.
 */
export type OutcomeStatus = 'found' | 'not_found' | 'rejected' | 'failed' | 'pending';

/**
 * Whether the status of a lookup or a row is an answer about its domain. The others are asked again
 * by the next run, and replace no answer.
 */
export function isAnswer(status: string): status is 'found' | 'not_found' | 'rejected' {
  return status === 'found' || status === 'not_found' || status === 'rejected';
}

/** How the lookup of one domain ended, and what it brought. */
export interface Outcome {
  readonly domain: string;
  readonly status: OutcomeStatus;
  /** Why it is not `found`: a word such as `timeout`, or what the API said. May be empty. */
  readonly reason: string;
  /** Status of the last answer; undefined when there was none. */
  readonly httpStatus: number | undefined;
  /** Calls made for it, not counting throttled ones or `pending`. */
  readonly attempts: number;
  /** Calls that the API refused for the moment (429 and the like). Not stored. @default 0 */
  readonly throttled?: number | undefined;
  /** What its calls cost, in millionths of the unit that the profile names. Not stored. @default 0 */
  readonly billedMicros?: number | undefined;
  /** When to ask again at the earliest, for `pending`, if the API said so. Not stored. */
  readonly retryAfterMs?: number | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly fetchedAtMs: number;
  /** The answer as it came, for `found`; empty otherwise. */
  readonly json: string;
}

/** A sign that an answer comes from another server or another path. */
export type Misdirection =
  | 'not_found_page'
  | 'bad_request_page'
  | 'no_json'
  /** 200 with one body for different domains. */
  | 'same_answer'
  /** A redirect to an address without the domain. */
  | 'lost_domain'
  | 'redirect_to_another_origin'
  | AddressReason;
