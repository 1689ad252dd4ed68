import { isReason } from '../common/reasons.ts';

/** All statuses. The place of each stands in stores. */
export const OUTCOME_STATUSES = ['found', 'not_found', 'rejected', 'failed', 'pending'] as const;

/**
 * How a lookup ended. `pending`: the API has accepted the lookup, and had no answer ready for as
 * long as it was asked again.
 */
export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number];

/** Outcomes by their status, none so far. */
export function createOutcomeCounts(): Record<OutcomeStatus, number> {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
}

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
  /** Why it is not `found`: one of our reasons, such as `timeout` or `http_400`. Empty for `found`. */
  readonly reason: string;
  /** What the API wrote, shortened; absent when it wrote nothing. */
  readonly said?: string | undefined;
  /** Status of the last answer; undefined when there was none. */
  readonly httpStatus: number | undefined;
  /** Calls made for it, not counting throttled ones or `pending`. */
  readonly attempts: number;
  /** What of its attempts counts with other domains that were in the same calls. Not stored. @default 0 */
  readonly shared?: number | undefined;
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

/**
 * The reason of an outcome and what the API wrote, where earlier versions kept either in one place.
 */
export function splitReason(
  reason: string,
  httpStatus: number | undefined,
): Pick<Outcome, 'reason' | 'said'> {
  if (reason === '' || isReason(reason)) return { reason };
  return { reason: httpStatus === undefined ? '' : `http_${httpStatus}`, said: reason };
}
