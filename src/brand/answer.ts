import type { LimitHints } from './limit-headers/limit-hints.ts';

/** What the status of an answer means, before its body is read. */
export type StatusMeaning =
  | 'found'
  | 'not_found'
  | 'rejected'
  | 'forbidden'
  | 'unauthorized'
  | 'quota_used_up'
  | 'throttled'
  | 'try_again'
  | 'redirect'
  | 'refused';

/**
 * What each status means. The first line that fits counts.
 *
 * `found` still depends on the body, which has to be a JSON object. `forbidden` is `rejected` until
 * five come in a row. `refused` ends the lookup as `failed` at once, because asking again cannot help.
 */
const MEANINGS: readonly (readonly [
  statuses: readonly [from: number, to: number],
  StatusMeaning,
])[] = [
  [[200, 200], 'found'],
  [[202, 202], 'try_again'], // accepted, being worked on: not an answer yet
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

/** Looks a status up in the table; what is not in it is `refused`. */
export function meaningOf(httpStatus: number): StatusMeaning {
  const line = MEANINGS.find(([[from, to]]) => httpStatus >= from && httpStatus <= to);
  return line ? line[1] : 'refused';
}

/** What one call brought. */
export type Answer = AnswerKind & {
  /** What the API says about its limits, if it does; any answer may. */
  readonly limits?: LimitHints;
};

type AnswerKind =
  | {
      readonly kind: 'found';
      readonly httpStatus: number;
      /** The body as it came. */
      readonly json: string;
      /** The same, parsed. */
      readonly value: JsonObject;
    }
  | {
      readonly kind: 'not_found';
      readonly httpStatus: number;
      /** Whether the body is a page for people, as a wrong path has it. */
      readonly isPage?: boolean;
    }
  | { readonly kind: 'unauthorized'; readonly httpStatus: number }
  | {
      readonly kind: 'quota_used_up';
      readonly httpStatus: number;
      /** When there will be more, if the server said. */
      readonly retryAfterMs?: number | undefined;
    }
  | {
      readonly kind: 'rejected' | 'forbidden' | 'refused';
      readonly httpStatus: number;
      readonly reason: string;
    }
  | { readonly kind: 'invalid_response'; readonly httpStatus: number; readonly reason: string }
  | {
      readonly kind: 'throttled';
      readonly httpStatus: number;
      /** How long the server said to wait, if it did: in `Retry-After`, or as the reset of a limit. */
      readonly retryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'try_again';
      readonly httpStatus: number | undefined;
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'redirect'; readonly httpStatus: number; readonly path: string };

/** A JSON object, as `JSON.parse` gives it. */
export type JsonObject = { readonly [name: string]: unknown };

/**
 * Parses a body that has to be a JSON object; undefined when it is not one. Numbers that JavaScript
 * cannot hold, such as 64-bit identifiers, come as texts with all their digits.
 */
export function findJsonObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (!isJsonObject(value)) return undefined;
    return LONG_NUMBER.test(body) ? withLongNumbers(body, value) : value;
  } catch {
    return undefined;
  }
}

/** Sixteen digits or an exponent: the number may not survive. */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d+\s*(?:[,\]}]|$)/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Only for what is JSON: looking for the end of a text that has none takes quadratic time. */
function withLongNumbers(body: string, value: JsonObject): JsonObject {
  try {
    return JSON.parse(quoteLongNumbers(body)) as JsonObject;
  } catch {
    return value; // a text too long for a pattern
  }
}

function quoteLongNumbers(body: string): string {
  return body.replaceAll(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"') || !LONG_NUMBER.test(token)) return token;
    const number = Number(token);
    const isExact =
      String(number) === token || (Number.isSafeInteger(number) && !token.includes('.'));
    return isExact ? token : `"${token}"`;
  });
}

/** Whether a value is an object in the sense of JSON: no array, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
