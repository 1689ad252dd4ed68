import type { AnswerFacts, RuleMeaning } from '../brand/api-profile.ts';
import {
  combinePolicies,
  fieldText,
  findLimits,
  findNumber,
  findWaitMs,
  type Limits,
  type Policy,
} from '../brand/limits.ts';
import type { ResponseHeaders } from '../brand/transport.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { HOUR_MS } from '../common/format.ts';
import { parseDuration } from '../options/types.ts';
import { type RuleFile, STATUS_RANGE, toPattern, type WindowFile } from './profile-schema.ts';

/**
 * The rules of a profile, made ready. They are tried in order; the first that fits counts. Evidence
 * is asked in the order in which it costs and can be trusted: the status, a header, then the body.
 */
export function compileRules(
  rules: readonly RuleFile[],
): (facts: AnswerFacts) => RuleMeaning | undefined {
  const compiled = rules.map(compileRule);
  return (facts) => {
    for (const rule of compiled) {
      const meaning = rule(facts);
      if (meaning) return meaning;
    }
    return undefined;
  };
}

function compileRule(
  { when, means, wait, reason }: RuleFile,
  at: number,
): (facts: AnswerFacts) => RuleMeaning | undefined {
  const fitsStatus = when.status === undefined ? ALWAYS : compileStatus(when.status);
  const fitsHeader = when.header === undefined ? ALWAYS : compileHeader(when.header);
  const fitsBody = when.body === undefined ? ALWAYS : compileBody(when.body);
  const findWait = wait === undefined ? NOTHING : compileWait(wait);
  const findReason = reason === undefined ? NOTHING : compileReason(reason);
  const isSure = when.header !== undefined || when.body !== undefined;
  return (facts) => {
    if (!fitsStatus(facts) || !fitsHeader(facts) || !fitsBody(facts)) return undefined;
    return { means, waitMs: findWait(facts), reason: findReason(facts), rule: at + 1, isSure };
  };
}

const ALWAYS = (): boolean => true;
const NOTHING = (): undefined => undefined;

type Status = NonNullable<RuleFile['when']['status']>;

/** The statuses that a rule is about, as ranges that include both ends. */
function rangesOf(status: Status): readonly (readonly [from: number, to: number])[] {
  return [status].flat().map((one): readonly [number, number] => {
    if (typeof one === 'number') return [one, one];
    const [, from, to] = STATUS_RANGE.exec(one) ?? [];
    return [Number(from), Number(to)];
  });
}

function compileStatus(status: Status): (facts: AnswerFacts) => boolean {
  const ranges = rangesOf(status);
  return ({ httpStatus }) => ranges.some(([from, to]) => httpStatus >= from && httpStatus <= to);
}

function compileHeader({
  name,
  pattern,
}: NonNullable<RuleFile['when']['header']>): (facts: AnswerFacts) => boolean {
  const key = name.toLowerCase();
  const regExp = pattern === undefined ? undefined : toPattern(pattern);
  return ({ headers }) => {
    const value = headers[key];
    return value !== undefined && (regExp === undefined || regExp.test(fieldText(value)));
  };
}

function compileBody(expression: string): (facts: AnswerFacts) => boolean {
  const find = tolerant(compileExpression(expression));
  return ({ json }) => isTrue(find(json()));
}

/** What JMESPath takes for true: anything but false, null, and what is empty. */
function isTrue(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  if (typeof value !== 'object') return true;
  return Object.keys(value).length > 0;
}

function compileWait(
  wait: NonNullable<RuleFile['wait']>,
): (facts: AnswerFacts) => number | undefined {
  if (typeof wait === 'string') {
    const ms = parseDuration(wait);
    return () => ms;
  }
  if ('header' in wait) {
    const key = wait.header.toLowerCase();
    return ({ headers, nowMs }) =>
      findWaitMs(headers[key], { nowMs, date: fieldText(headers['date']) }, wait.unit);
  }
  const find = tolerant(compileExpression(wait.body));
  return ({ json, headers, nowMs }) => {
    const value = find(json());
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string') return undefined;
    return findWaitMs(text, { nowMs, date: fieldText(headers['date']) }, wait.unit);
  };
}

const REASON_LENGTH = 200;

function compileReason(expression: string): (facts: AnswerFacts) => string | undefined {
  const find = tolerant(compileExpression(expression));
  return ({ json }) => {
    const value = find(json());
    if (value === null || value === undefined) return undefined;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const line = text.replaceAll(/\s+/g, ' ').trim();
    return Array.from(line).slice(0, REASON_LENGTH).join('') || undefined;
  };
}

/**
 * An expression whose functions meet a value of another type than they take has no value: answers
 * need not have the form that a rule looks for.
 */
export function tolerant(find: (answer: unknown) => unknown): (answer: unknown) => unknown {
  return (answer) => {
    if (answer === undefined) return undefined;
    try {
      return find(answer);
    } catch {
      return undefined;
    }
  };
}

/** What a rule asks of an answer, for people. */
export function describeWhen({ status, header, body }: RuleFile['when']): string {
  const parts = [
    ...(status === undefined ? [] : [`status ${[status].flat().join(', ')}`]),
    ...(header === undefined
      ? []
      : [`header ${header.name}${header.pattern === undefined ? '' : ` ~ ${header.pattern}`}`]),
    ...(body === undefined ? [] : [`body ${body}`]),
  ];
  return parts.length === 0 ? 'any answer' : parts.join(', ');
}

/** A longer window, such as a day, is a quota and sets no pace; what is left of it still counts. */
const LONGEST_PACE_MS = HOUR_MS;

/**
 * Reads the limits that an API states in headers of its own, one window beside the other. Where an
 * answer has none of them, the headers that everybody knows count. `Retry-After` always does.
 */
export function compileLimits(
  windows: readonly WindowFile[],
): (headers: ResponseHeaders, nowMs: number) => Limits | undefined {
  const readers = windows.map(compileWindow);
  return (headers, nowMs) => {
    const known = findLimits(headers, nowMs);
    const limits = combinePolicies(readers.map((read) => read(headers, nowMs)));
    return limits ? { ...known, limits } : known;
  };
}

function compileWindow({
  per,
  limit,
  remaining,
  reset,
  unit,
  member,
}: WindowFile): (headers: ResponseHeaders, nowMs: number) => Policy {
  const perMs = per === undefined ? undefined : parseDuration(per);
  const setsPace = perMs !== undefined && perMs > 0 && perMs <= LONGEST_PACE_MS;
  const inMember = member === undefined ? (text: string) => text.trim() : memberReader(member);
  const textOf = (headers: ResponseHeaders, name: string | undefined): string =>
    name === undefined ? '' : fieldText(headers[name.toLowerCase()]);
  const numberOf = (headers: ResponseHeaders, name: string | undefined): number | undefined => {
    const number = findNumber(inMember(textOf(headers, name)));
    return number === undefined ? undefined : Math.floor(number);
  };
  return (headers, nowMs) => {
    const count = setsPace ? numberOf(headers, limit) : undefined;
    const resetText = textOf(headers, reset);
    return {
      quota: count && perMs ? { count, perMs } : undefined,
      remaining: numberOf(headers, remaining),
      // A reset may be a member of an object as well, or one for all windows.
      resetMs: findWaitMs(
        inMember(resetText) || resetText,
        { nowMs, date: fieldText(headers['date']) },
        unit,
      ),
    };
  };
}

/** Finds the number of a member in an object such as `{'minute': 100}`, in whatever quotes. */
function memberReader(member: string): (text: string) => string {
  const name = member.replaceAll(/[^\w-]/g, String.raw`\$&`);
  const pattern = new RegExp(String.raw`["']?\b${name}\b["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)`, 'i');
  return (text) => pattern.exec(text)?.[1] ?? '';
}
