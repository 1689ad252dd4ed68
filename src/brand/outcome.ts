import type { Shape } from './shape.ts';

/** How a lookup ended. */
export type OutcomeStatus = 'found' | 'not_found' | 'rejected' | 'failed';

/** How the lookup of one domain ended, and what it brought. */
export interface Outcome {
  readonly domain: string;
  readonly status: OutcomeStatus;
  /** Why it is not `found`: a word such as `timeout`, or what the API said. Empty when there is nothing to say. */
  readonly reason: string;
  /** Status of the last answer; undefined when there was none. */
  readonly httpStatus: number | undefined;
  /** Calls made for it, those answered 429 not counted. */
  readonly attempts: number;
  /** Calls that were answered 429 on the way. Not stored. @default 0 */
  readonly throttled?: number | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly fetchedAtMs: number;
  /** The answer as it came, for `found`; empty otherwise. */
  readonly json: string;
  /** Which columns the answer has, where that is known. Not sent. */
  readonly shape?: Shape | undefined;
}
