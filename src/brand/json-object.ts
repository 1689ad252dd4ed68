import { isTooDeep } from '../common/text.ts';

/** A JSON object, as `JSON.parse` gives it. */
export type JsonObject = { readonly [name: string]: unknown };

/**
 * Parses a body that has to be a JSON object. Undefined when it is not one, or is nested more than
 * 1,000 levels deep, which could not be written out again. Numbers that JavaScript cannot hold,
 * such as 64-bit identifiers, become texts with all their digits.
 */
export function findJsonObject(body: string): JsonObject | undefined {
  const value = findRoundedJsonObject(body);
  return value && withLongNumbers(body, value);
}

/**
 * Parses a body that may be any JSON, such as a list. Numbers that JavaScript cannot hold are
 * rounded.
 *
 * @returns undefined for no JSON
 */
export function findRoundedJson(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return isTooDeep(body) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The same, for an object alone. */
export function findRoundedJsonObject(body: string): JsonObject | undefined {
  const value = findRoundedJson(body);
  return isJsonObject(value) ? value : undefined;
}

/** The value of a body that was parsed, with numbers that JavaScript cannot hold as texts. */
export function withLongNumbers<T>(body: string, value: T): T {
  if (!mayHoldLongNumber(body)) return value;
  try {
    return JSON.parse(quoteLongNumbers(body)) as T;
  } catch {
    return value; // a text too long for a pattern
  }
}

/**
 * Says why a body that came whole is no JSON object, with what stands there. Undefined when it ends
 * too early: then it was cut off before it was sent.
 */
export function whyNoJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return 'it is no JSON object';
  } catch (error) {
    const why = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : '';
    return /end of JSON|Unterminated/.test(why) ? undefined : why;
  }
}

/**
 * A text with `NaN` and `Infinity`, which Python's and others' writers put for what JSON has no
 * number for, as JSON with `null` there.
 */
export function withoutNaN(text: string): string {
  return text.replaceAll(STRING_OR_NAN, (token) => (token.startsWith('"') ? token : 'null'));
}

/** A text without an end takes all that follows, so that it is read once. */
const STRING_OR_NAN = /"(?:[^"\\]|\\.)*"?|-?\b(?:NaN|Infinity)\b/gs;

/** A number with sixteen digits or an exponent may not survive parsing. */
function mayHoldLongNumber(text: string): boolean {
  return LONG_DIGITS.test(text) || EXPONENT.test(text);
}

// Every answer is searched. Two patterns, the first one unrolled, take a fifth of the time of one.
const LONG_DIGITS = /\d[\d.][\d.][\d.][\d.]{12}/;
const EXPONENT = /\d[eE][+-]?\d+\s*(?:[,\]}]|$)/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** For valid JSON only: the pattern takes quadratic time on a text without an end. */
function quoteLongNumbers(body: string): string {
  return body.replaceAll(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"') || !mayHoldLongNumber(token)) return token;
    const number = Number(token);
    const isExact =
      String(number) === token || (Number.isSafeInteger(number) && !token.includes('.'));
    return isExact ? token : `"${token}"`;
  });
}

/** Whether a value is a JSON object: not an array, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
