import type { ApiProfile } from '../brand/api-profile.ts';
import { createEndpoint, DOMAIN } from '../brand/endpoint.ts';
import { MICROS } from '../common/format.ts';
import type { SampleFile } from './profile-schema.ts';
import type { Profile } from './read-profile.ts';
import { bodyText, factsOf, judgeSample } from './samples.ts';

/** How an API answers that is played by the sandbox. */
export interface Play {
  /** The domain that a request asks about; undefined for one that is none of the API's. */
  domainOf(target: string): string | undefined;
  /** The answer to a call; `call` counts from 1 for each domain. */
  reply(domain: string, call: number): PlayedAnswer;
  /** How it refuses a call, in its own words. */
  readonly refusals: Readonly<Partial<Record<Refusal, PlayedAnswer>>>;
  /** Path and query that ask about a domain. */
  pathOf(domain: string): string;
}

/** Why a call is refused before its domain is looked at. */
type Refusal = 'unauthorized' | 'rate_limited' | 'quota_exceeded';

/** Calls about a domain until one that is pending, throttled or failing gets its answer. */
const CALLS_UNTIL_READY = 1;

/**
 * Plays the samples of a profile. A domain whose first label is `sample-3` gets the third sample. Of
 * the others most are found, some are not, and some are pending at first. What means that a domain is
 * asked again gets a record at its second call, as if it were ready by then.
 */
export function playProfile({ name, content, api }: Profile): Play {
  const { samples = [] } = content;
  const endpoint = createEndpoint({ baseUrl: 'http://sandbox', profile: api });
  const pathOf = (domain: string): string => endpoint.path(domain);
  const first = (...means: readonly string[]): SampleFile | undefined =>
    samples.find((sample) => means.includes(sample.means));
  const found = first('found') ?? { status: 200, body: { name: 'Example' }, means: 'found' };
  // Two APIs do not lack the same domains.
  const own = numberOf(name);
  const ordinary = [first('not_found'), first('pending')];

  function sampleOf(domain: string): SampleFile {
    const [, number] = /^sample-(\d+)\./.exec(domain) ?? [];
    const named = number === undefined ? undefined : samples[Number(number) - 1];
    return named ?? ordinary[(numberOf(domain) + own) % 10] ?? found;
  }

  return {
    domainOf: domainFinder(pathOf),
    pathOf,
    reply: (domain, call) => {
      const sample = sampleOf(domain);
      const isReady = PASSING.has(sample.means) && call > CALLS_UNTIL_READY;
      const played = isReady ? found : sample;
      return { ...answerOf(played, domain), charge: chargeOf(played, api) };
    },
    refusals: Object.fromEntries(
      Object.entries(REFUSALS).flatMap(([refusal, means]) => {
        const sample = first(means);
        return sample ? [[refusal, { ...answerOf(sample, 'example.com'), charge: 0 }]] : [];
      }),
    ),
  };
}

/** Meanings after which the same domain may get its answer. */
const PASSING: ReadonlySet<string> = new Set(['pending', 'throttled', 'retry']);

const REFUSALS: Readonly<Record<Refusal, string>> = {
  unauthorized: 'unauthorized',
  rate_limited: 'throttled',
  quota_exceeded: 'quota',
};

/** A sample is about example.com; its answer is about the domain that is asked. */
function answerOf(
  { status, headers = {}, body }: SampleFile,
  domain: string,
): Omit<PlayedAnswer, 'charge'> {
  const name = domain.charAt(0).toUpperCase() + domain.slice(1).replace(/\..*$/, '');
  const text = bodyText(body).replaceAll('example.com', domain).replaceAll('Example', name);
  return { status, headers, body: text };
}

/** What an API bills for a sample. */
function chargeOf(sample: SampleFile, api: ApiProfile): number {
  if (!api.billing) return sample.status === 200 || sample.status === 404 ? 1 : 0;
  return api.billing.costOf(judgeSample(sample, api), factsOf(sample)) / MICROS;
}

/** A number that depends on a domain alone. */
function numberOf(domain: string): number {
  let sum = 0;
  for (const character of domain) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return sum;
}

/** Finds the domain where the path of the API has it, whatever stands in front of the path. */
function domainFinder(pathOf: (domain: string) => string): Play['domainOf'] {
  const [path = '', query = ''] = decodeURIComponent(pathOf(DOMAIN)).split('?');
  const [name] =
    query
      .split('&')
      .map((pair) => pair.split('='))
      .find(([, value]) => value?.includes(DOMAIN)) ?? [];
  const [before = '', after = ''] = path.split(DOMAIN).map(literal);
  const pattern = new RegExp(path.includes(DOMAIN) ? `${before}([^/?]+)${after}$` : `${before}$`);
  return (target) => {
    const mark = target.indexOf('?');
    const match = pattern.exec(mark === -1 ? target : target.slice(0, mark));
    if (!match) return undefined;
    const inPath = match[1];
    if (inPath !== undefined) return decode(inPath);
    const given = new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1));
    return name === undefined ? undefined : (given.get(name) ?? undefined);
  };
}

/** What is no text, such as `%ZZ`, is no domain either. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

export interface PlayedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What it costs, in the units that the profile bills. @default nothing */
  readonly charge?: number;
}
