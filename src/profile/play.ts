import { isDeepStrictEqual } from 'node:util';
import { createEndpoint, DOMAIN } from '../brand/endpoint.ts';
import { MICROS } from '../common/format.ts';
import type { Profile } from './read-profile.ts';
import { bodyText, factsOf, judgeSample, type Sample } from './samples.ts';

/**
 * Meanings after which the same domain gets its answer at the second call, as if it were ready by
 * then.
 */
const PASSING: ReadonlySet<string> = new Set(['pending', 'throttled', 'retry']);

/**
 * Plays the samples of a profile. A domain whose first label is `sample-3` gets the third sample.
 * Of the others most are found, some are not, and some are pending at first.
 */
export function playProfile({ name, content, api }: Profile) {
  const { samples = [] } = content;
  const endpoint = createEndpoint({ baseUrl: 'http://sandbox', profile: api });
  const first = (means: string): Sample | undefined =>
    samples.find((sample) => sample.means === means);
  const bodyOf = (domain: string): string => (api.body ?? '').replaceAll(DOMAIN, domain);
  const found = first('found') ?? { status: 200, body: { name: 'Example' }, means: 'found' };
  const ordinary = [first('not_found'), first('pending')];
  const refusal = (means: string) => {
    const sample = first(means);
    return sample && { ...answerOf(sample, 'example.com'), charge: 0 };
  };
  return {
    /** Path and query that ask about a domain. */
    pathOf: (domain: string): string => endpoint.path(domain),
    /** The domain that a request asks about; undefined for one that is none of the API's. */
    domainOf: (target: string, sent: string) =>
      findDomain(target, sent, (domain) => [endpoint.path(domain), bodyOf(domain)]),
    method: api.body === undefined ? ('GET' as const) : ('POST' as const),
    /** The answer to a call; `call` counts from 1 for each domain. */
    reply: (domain: string, call: number) => {
      const named = /^sample-(\d+)\./.exec(domain)?.[1];
      // Two APIs do not lack the same domains.
      const share = (numberOf(domain) + numberOf(name)) % 10;
      const sample = (named && samples[Number(named) - 1]) || (ordinary[share] ?? found);
      const played = call > 1 && PASSING.has(sample.means) ? found : sample;
      const charge = api.billing?.costOf(judgeSample(played, api), factsOf(played));
      return {
        ...answerOf(played, domain),
        ...(charge === undefined ? {} : { charge: charge / MICROS }),
      };
    },
    /** How it refuses a call, in its own words. */
    refusals: {
      unauthorized: refusal('unauthorized'),
      rate_limited: refusal('throttled'),
      quota_exceeded: refusal('quota'),
    },
  };
}

/** A sample is about example.com; its answer is about the domain that is asked. */
function answerOf(sample: Sample, domain: string) {
  const name = domain.charAt(0).toUpperCase() + domain.slice(1).replace(/\..*/s, '');
  const body = bodyText(sample).replaceAll('example.com', domain).replaceAll('Example', name);
  return { status: sample.status, headers: sample.headers ?? {}, body };
}

/** A number that depends on a text alone. */
function numberOf(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return sum;
}

/** Finds the domain where a request of the API has it, whatever stands in front of its path. */
function findDomain(
  target: string,
  sent: string,
  asked: (domain: string) => readonly [path: string, body: string],
): string | undefined {
  const [path = '', query] = target.split('?');
  const given = new URLSearchParams(query);
  const places = [...path.split('/'), ...given.values(), ...sent.split('"')];
  return places.find((domain) => {
    const [[own = '', wanted], body] = [asked(domain)[0].split('?'), asked(domain)[1]];
    const isThere = ([name, value]: readonly string[]) => given.get(name ?? '') === value;
    const isAsked = path.endsWith(own) && [...new URLSearchParams(wanted)].every(isThere);
    return domain !== '' && isAsked && isSameJson(sent, body);
  });
}

function isSameJson(one: string, other: string): boolean {
  if (one === other || other === '') return true;
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
  } catch {
    return false;
  }
}
