import { type Answer, judge } from '../brand/answer.ts';
import type { ApiProfile, MeaningName } from '../brand/api-profile.ts';
import { BodyText } from '../brand/body-text.ts';
import { findLimits, type Reading } from '../brand/limit-headers/find-limits.ts';
import { shapeOf } from '../brand/shape.ts';
import { createRedactor } from '../common/secrets.ts';
import type { SampleFile } from './profile-schema.ts';

/**
 * Judges an answer as a call would: by the rules of a profile, else as any API's.
 *
 * @param domain the domain that was asked
 */
export function judgeSample(sample: SampleFile, api: ApiProfile, domain = 'example.com'): Answer {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(sample.headers ?? {})) {
    headers[name.toLowerCase()] = value;
  }
  const bytes = Buffer.from(bodyText(sample.body));
  const { status: httpStatus } = sample;
  const response = { httpStatus, headers, bytes, isCut: false, bodyError: undefined };
  const body = new BodyText(response, createRedactor([]));
  const nowMs = 0;
  const reading: Reading = { date: headers['date'], nowMs };
  return judge({
    ...response,
    domain,
    origin: 'https://api.example',
    path: '/',
    isDoubled: false,
    stated: (api.findLimits ?? findLimits)(headers, reading),
    body,
    shapeOf,
    profile: api,
    meaning: api.meaningOf({
      httpStatus,
      headers,
      json: () => body.json,
      reading,
    }),
  });
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
  const answer = judgeSample(sample, api);
  const means = meaningOfAnswer(answer);
  if (means === sample.means) return undefined;
  const by =
    answer.rule === undefined ? 'no rule fits, so the status decides' : `rule ${answer.rule}`;
  const why = 'reason' in answer && means === 'failed' ? `, because of '${answer.reason}'` : '';
  return `expected this answer to mean ${sample.means}, but it means ${means}${why} (${by})`;
}

/** An answer in the words of rules. */
export function meaningOfAnswer({ kind }: Pick<Answer, 'kind'>): MeaningName {
  return WORDS[kind];
}

const WORDS: Readonly<Record<Answer['kind'], MeaningName>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  forbidden: 'rejected',
  unauthorized: 'unauthorized',
  quota_used_up: 'quota',
  pending: 'pending',
  refused: 'failed',
  redirect: 'failed',
  invalid_response: 'failed',
  throttled: 'throttled',
  try_again: 'retry',
};
