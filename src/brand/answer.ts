import type { LimitHints } from '../common/limit-hints.ts';
import type { Shape } from './shape.ts';

/** The meaning of an answer's status, before its body is read. */
export type StatusMeaning =
  | 'found'
  | 'not_found'
  | 'rejected'
  | 'forbidden'
  | 'unauthorized'
  | 'quota_used_up'
  | 'throttled'
  | 'try_again'
  | 'pending'
  | 'redirect'
  | 'refused';

/**
 * The meaning of each status. The first line that fits counts.
 *
 * `found` still depends on the body, which has to be a JSON object. `forbidden` is `rejected` until
 * five come in a row. `refused` ends the lookup as `failed` at once, because asking again cannot
 * help.
 */
const MEANINGS: readonly (readonly [
  statuses: readonly [from: number, to: number],
  StatusMeaning,
])[] = [
  [[200, 200], 'found'],
  [[202, 202], 'pending'], // accepted, being worked on: not an answer yet
  [[300, 399], 'redirect'],
  [[401, 401], 'unauthorized'],
  [[402, 402], 'quota_used_up'],
  [[403, 403], 'forbidden'],
  [[404, 404], 'not_found'],
  [[408, 408], 'try_again'],
  [[410, 410], 'not_found'],
  [[425, 425], 'try_again'],
  [[429, 429], 'throttled'],
  [[400, 499], 'rejected'],
  [[501, 501], 'refused'],
  [[505, 505], 'refused'],
  [[500, 599], 'try_again'],
];

/** Looks a status up in the table. A status that is not in it is `refused`. */
export function meaningOf(httpStatus: number): StatusMeaning {
  const line = MEANINGS.find(([[from, to]]) => httpStatus >= from && httpStatus <= to);
  return line ? line[1] : 'refused';
}

/** The answer to one call. */
export type Answer = AnswerKind & {
  /** The limits that the API states, if any. Every kind of answer may have them. */
  readonly limits?: LimitHints;
};

type AnswerKind =
  | {
      readonly kind: 'found';
      readonly httpStatus: number;
      /** The body as it came. */
      readonly json: string;
      /**
       * Which columns the answer has. Answers with the same columns mostly share one object here.
       */
      readonly shape: Shape;
    }
  | {
      readonly kind: 'not_found';
      readonly httpStatus: number;
      /** Whether the body is a page for people, such as a wrong path brings. */
      readonly isPage?: boolean;
      /** Whether the path that was asked has `/v1` twice. */
      readonly isDoubled?: boolean;
    }
  | { readonly kind: 'unauthorized'; readonly httpStatus: number }
  | {
      readonly kind: 'quota_used_up';
      readonly httpStatus: number;
      /** When the quota is renewed, in milliseconds from now, if the server said. */
      readonly retryAfterMs?: number | undefined;
    }
  | {
      readonly kind: 'rejected' | 'forbidden';
      readonly httpStatus: number;
      readonly reason: string;
      /** Whether the body is HTML, such as a server sends that is not an API. */
      readonly isPage?: boolean;
    }
  | {
      readonly kind: 'refused';
      /** Undefined when the headers of the answer were too long to be read. */
      readonly httpStatus: number | undefined;
      readonly reason: string;
    }
  | { readonly kind: 'invalid_response'; readonly httpStatus: number; readonly reason: string }
  | {
      readonly kind: 'throttled';
      readonly httpStatus: number;
      /**
       * How long the server said to wait, if it did: from `Retry-After`, or the reset of a limit.
       */
      readonly retryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'try_again';
      readonly httpStatus: number | undefined;
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'pending';
      readonly httpStatus: number;
      /** When to ask again, in milliseconds from now, if the server said. */
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'redirect'; readonly httpStatus: number; readonly path: string };
