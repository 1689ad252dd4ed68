import { z } from 'zod';
import {
  type AnswerFacts,
  type ApiProfile,
  MEANINGS,
  type MeaningName,
} from '../brand/api-profile.ts';
import { Body } from '../brand/body.ts';
import { findLimits } from '../brand/limits.ts';
import { judge, type Meaning } from '../brand/meaning.ts';
import { createRedactor } from '../common/secrets.ts';

export const means = z.enum(MEANINGS).describe('what the answer means');

/** An answer from the documentation, and what it has to mean. */
export type Sample = z.infer<typeof sample>;
export const sample = z.strictObject({
  status: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional().describe('as JSON; a text is sent as it is'),
  means,
});

/**
 * Judges a sample as a call about example.com would: by the rules of a profile, else as any API's.
 */
export function judgeSample(given: Sample, api: ApiProfile): Meaning {
  const facts = factsOf(given);
  const { httpStatus, headers, nowMs } = facts;
  const bytes = Buffer.from(bodyText(given));
  const response = { httpStatus, headers, bytes, isCut: false, bodyError: undefined };
  const body = new Body(response, createRedactor([]));
  return judge({
    response,
    domain: 'example.com',
    origin: 'https://api.example',
    path: '/',
    stated: (api.findLimits ?? findLimits)(headers, nowMs),
    nowMs,
    body,
    recordOf: api.recordOf,
    rule: api.meaningOf({ ...facts, json: () => body.json }),
  });
}

/** A sample as rules look at it. */
export function factsOf({ status: httpStatus, headers = {}, body }: Sample): AnswerFacts {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const all = { 'content-type': 'application/json', ...Object.fromEntries(named) };
  return { httpStatus, headers: all, json: () => body, nowMs: 0 };
}

/** The body of a sample as it is sent. */
export function bodyText({ body = '' }: Sample): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** What is wrong with a sample; undefined when it means what it says. */
export function findSampleProblem(given: Sample, api: ApiProfile): string | undefined {
  const meaning = judgeSample(given, api);
  const word = wordOf(meaning);
  if (word === given.means) return undefined;
  const by = meaning.rule === undefined ? 'no rule fits' : `rule ${meaning.rule}`;
  return `expected this answer to mean ${given.means}, but it means ${word} (${by})`;
}

/** A meaning in the words of rules. */
export function wordOf({ kind }: { readonly kind: string }): MeaningName {
  return (Object.hasOwn(WORDS, kind) ? WORDS[kind] : kind) as MeaningName;
}

const WORDS: Readonly<Record<string, MeaningName>> = {
  redirect: 'failed',
  refused: 'unauthorized',
  away: 'retry',
  machine: 'retry',
} satisfies Partial<Record<Meaning['kind'], MeaningName>>;
