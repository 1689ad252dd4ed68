import { z } from 'zod';
import type { AnswerFacts, Billing, RuleMeaning } from '../brand/api-profile.ts';
import { fieldText, findWaitMs, timeOf } from '../brand/limits.ts';
import { refusal } from '../common/errors.ts';
import { MICROS } from '../common/format.ts';
import { shortenTo } from '../common/text.ts';

import { means, wordOf } from './samples.ts';
import { duration, expression, headerName, parsed } from './texts.ts';

// What answers mean and cost, each said once: its shape in a profile, and how it is asked of an
// answer.

const A_STATUS = 'expected a status such as 404, a range such as 500-599, or a list of them';
const range = z.string().regex(/^[1-5]\d\d-[1-5]\d\d$/, A_STATUS);
const oneStatus = z.union([z.int().min(100).max(599), range], { error: A_STATUS });

const when = z
  .strictObject({
    status: z
      .union([oneStatus, z.array(oneStatus).min(1)], { error: A_STATUS })
      .describe('the status: one, a range such as 500-599, or a list'),
    header: z.strictObject({
      name: headerName('the header that the answer has'),
      pattern: parsed('a regular expression, whatever the case', toPattern).optional(),
    }),
    body: expression('what is true of the body'),
  })
  .partial()
  .describe('what has to be true of an answer, all of it');

/** @throws BrandfillError for what is no regular expression */
function toPattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i');
  } catch (error) {
    throw refusal(String(error).replace(/^.*\/i?: /, ''));
  }
}

/** Evidence is asked in the order in which it costs and can be trusted. */
function fits({ status, header, body }: z.output<typeof when>, facts: AnswerFacts): boolean {
  const isOne = (one: number | string): boolean => {
    const [from, to = from] = String(one).split('-').map(Number);
    return facts.httpStatus >= Number(from) && facts.httpStatus <= Number(to);
  };
  if (status !== undefined && ![status].flat().some(isOne)) return false;
  const value = header && facts.headers[header.name];
  if (header && (value === undefined || header.pattern?.test(fieldText(value)) === false)) {
    return false;
  }
  return body === undefined || isTrue(body(facts.json()));
}

/** What JMESPath takes for true: anything but false, null, and what is empty. */
function isTrue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value === 0 || Boolean(value);
}

/** What a rule asks of an answer, for people. */
export function describeWhen(given: z.input<typeof when>): string {
  const parts = Object.entries(given).map(([what, asked]) => {
    const values = typeof asked === 'object' ? Object.values(asked ?? {}) : [asked];
    return `${what} ${values.join(Array.isArray(asked) ? ', ' : ' ~ ')}`;
  });
  return parts.join(', ') || 'any answer';
}

/** Where an answer says something: a header, or a place in its body. */
const inHeader = (help: string) => z.strictObject({ header: headerName(help) });
const inBody = (help: string) => z.strictObject({ body: expression(help) });
const A_PLACE = "expected { header: NAME } or { body: 'JMESPath' }";
type Place = z.output<ReturnType<typeof inHeader> | ReturnType<typeof inBody>>;

function textAt(place: Place, { headers, json }: AnswerFacts): string {
  if ('header' in place) return fieldText(headers[place.header]);
  const value = place.body(json());
  return typeof value === 'number' || typeof value === 'string' ? String(value) : '';
}

const wait = z.union(
  [
    duration('how long'),
    inHeader('the header that says how long'),
    inBody('where the body says how long'),
  ],
  { error: "expected a duration such as 90s, { header: NAME } or { body: 'JMESPath' }" },
);

const rule = z
  .strictObject({
    when,
    means,
    wait: wait.describe('how long to wait, with pending, throttled, quota and retry'),
    reason: expression('where the body says why'),
    note: z.string().describe('why the rule is there, for people'),
  })
  .partial()
  .required({ when: true, means: true });

export const rules = z
  .array(rule)
  .transform((all) => (facts: AnswerFacts): RuleMeaning | undefined => {
    const at = all.findIndex((one) => fits(one.when, facts));
    const first = all[at];
    if (!first) return undefined;
    return {
      means: first.means,
      waitMs: waitIn(first, facts),
      said: saidIn(first, facts),
      rule: at + 1,
      isSure: first.when.header !== undefined || first.when.body !== undefined,
    };
  })
  .describe('what answers mean; the first rule that fits counts, else what every API means');

function waitIn({ wait: given }: z.output<typeof rule>, facts: AnswerFacts): number | undefined {
  if (given === undefined || typeof given === 'number') return given;
  const { headers, nowMs } = facts;
  return findWaitMs(textAt(given, facts), timeOf(headers, nowMs));
}

function saidIn({ reason }: z.output<typeof rule>, { json }: AnswerFacts): string | undefined {
  const value = reason?.(json()) ?? '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return shortenTo(text.replaceAll(/\s+/g, ' '), 200) || undefined;
}

export const billing = z
  .strictObject({
    unit: z.string().min(1).describe('what is billed, such as credits'),
    price: z.number().min(0).max(1_000_000).describe('units for each answer billed (default: 1)'),
    bills: z
      .array(means.extract(['found', 'not_found', 'pending', 'rejected', 'failed']))
      .describe('which answers are billed, by what they mean (default: found)'),
    cost: z
      .union([inHeader('the header that says it'), inBody('where the body says it')], A_PLACE)
      .describe('where an answer says what it cost, which then counts instead of the price'),
  })
  .partial()
  .required({ unit: true })
  .transform(({ unit: billed, price, bills = ['found'], cost }): Billing => {
    const priceMicros = Math.round((price ?? 1) * MICROS);
    const all: ReadonlySet<string> = new Set(bills);
    const statedIn = (facts: AnswerFacts) => cost && microsIn(textAt(cost, facts));
    return {
      unit: billed,
      priceMicros: cost !== undefined && price === undefined ? undefined : priceMicros,
      isStated: cost !== undefined,
      statedIn,
      costOf: (meaning, facts) => statedIn(facts) ?? (all.has(wordOf(meaning)) ? priceMicros : 0),
    };
  })
  .describe('what the API bills');

/** Undefined for anything but a number from 0 on, so that a malformed field bills as documented. */
function microsIn(text: string): number | undefined {
  const micros = text === '' ? Number.NaN : Math.round(Number(text) * MICROS);
  return micros >= 0 && Number.isSafeInteger(micros) ? micros : undefined;
}
