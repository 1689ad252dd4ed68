import { createRequire } from 'node:module';
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
  return value && mayHoldLongNumber(body) ? withLongNumbers(body, value) : value;
}

/**
 * The same for a body that may be any JSON, such as a list.
 *
 * @returns undefined for no JSON
 */
export function findJson(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    if (isTooDeep(body, value)) return undefined;
    return mayHoldLongNumber(body) ? JSON.parse(quoteLongNumbers(body)) : value;
  } catch {
    return undefined;
  }
}

/**
 * The same for who needs no values, only the columns: numbers that JavaScript cannot hold are
 * rounded. Spares the search for them.
 */
export function findRoundedJsonObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isJsonObject(value) && !isTooDeep(body, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A number with sixteen digits or an exponent may not survive parsing. */
function mayHoldLongNumber(text: string): boolean {
  return LONG_DIGITS.test(text) || EXPONENT.test(text);
}

// Every answer is searched. Two patterns, the first one unrolled, take a fifth of the time of one.
const LONG_DIGITS = /\d[\d.][\d.][\d.][\d.]{12}/;
const EXPONENT = /\d[eE][+-]?\d+\s*(?:[,\]}]|$)/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Must be called for valid JSON only: the pattern takes quadratic time on a text without an end.
 */
function withLongNumbers(body: string, value: JsonObject): JsonObject {
  try {
    return JSON.parse(quoteLongNumbers(body)) as JsonObject;
  } catch {
    return value; // a text too long for a pattern
  }
}

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

const load = createRequire(import.meta.url);
/** How much is shown of what stands where JSON breaks. */
const SHOWN = 40;

/**
 * Says why a body that came whole is not a JSON object, with the place and what stands there: `no
 * JSON: 'NaN, "b":1}' at character 7`. Undefined when it ends too early: then it was
 * cut off before it was sent.
 *
 * @param text without secrets
 */
export function whyNoJsonObject(text: string): string | undefined {
  const at = findBreak(text);
  if (at === undefined) return 'no JSON object';
  if (text.slice(at).trim() === '') return undefined;
  const around = text.slice(at, at + 10 * SHOWN).replaceAll(/\s+/g, ' ');
  const shown = Array.from(around).slice(0, SHOWN).join('');
  return `no JSON: '${shown}' at character ${at + 1}`;
}

/** Where a text ceases to be JSON; undefined when it is JSON, or nested too deep to say. */
function findBreak(text: string): number | undefined {
  const { parse } = load('jsonc-parser') as typeof import('jsonc-parser');
  const errors: import('jsonc-parser').ParseError[] = [];
  try {
    parse(text, errors, { allowTrailingComma: false, disallowComments: true });
  } catch {
    return undefined;
  }
  const [first] = errors;
  // A text without its closing quote is reported where it begins.
  const isOpenText = first !== undefined && text.slice(first.offset + first.length).trim() === '';
  return isOpenText && first.length > 1 ? text.length : first?.offset;
}
