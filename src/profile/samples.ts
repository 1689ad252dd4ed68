import type { AnswerFacts, ApiProfile, MeaningName } from '../brand/api-profile.ts';
import { Body } from '../brand/body.ts';
import { findLimits } from '../brand/limits.ts';
import { judge, type Meaning } from '../brand/meaning.ts';
import { createRedactor } from '../common/secrets.ts';
import type { SampleFile } from './profile-schema.ts';

/**
 * Judges an answer as a call would: by the rules of a profile, else as any API's.
 *
 * @param domain the domain that was asked
 */
export function judgeSample(sample: SampleFile, api: ApiProfile, domain = 'example.com'): Meaning {
  const facts = factsOf(sample);
  const { httpStatus, headers, nowMs } = facts;
  const bytes = Buffer.from(bodyText(sample.body));
  const response = { httpStatus, headers, bytes, isCut: false, bodyError: undefined };
  const body = new Body(response, createRedactor([]));
  return judge({
    response,
    domain,
    origin: 'https://api.example',
    path: '/',
    stated: (api.findLimits ?? findLimits)(headers, nowMs),
    body,
    recordOf: api.recordOf,
    rule: api.meaningOf({ ...facts, json: () => body.json }),
  });
}

/** A sample as rules look at it. */
export function factsOf({ status: httpStatus, headers = {}, body }: SampleFile): AnswerFacts {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const all = { 'content-type': 'application/json', ...Object.fromEntries(named) };
  return { httpStatus, headers: all, json: () => body, nowMs: 0 };
}

/** The body of a sample as it is sent. */
export function bodyText(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** What is wrong with a sample; undefined when it means what it says. */
export function findSampleProblem(
  sample: SampleFile,
  { api }: { readonly api: ApiProfile },
): string | undefined {
  const meaning = judgeSample(sample, api);
  const means = wordOf(meaning);
  if (means === sample.means) return undefined;
  const by =
    meaning.rule === undefined ? 'no rule fits, so the status decides' : `rule ${meaning.rule}`;
  const why = 'reason' in meaning && means === 'failed' ? `, because of '${meaning.reason}'` : '';
  return `expected this answer to mean ${sample.means}, but it means ${means}${why} (${by})`;
}

/** A meaning in the words of rules. */
export function wordOf({ kind }: Pick<Meaning, 'kind'>): MeaningName {
  return WORDS[kind];
}

const WORDS: Readonly<Record<Meaning['kind'], MeaningName>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  pending: 'pending',
  failed: 'failed',
  redirect: 'failed',
  refused: 'unauthorized',
  quota: 'quota',
  throttled: 'throttled',
  away: 'retry',
  machine: 'retry',
};
