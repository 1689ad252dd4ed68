import { domainToASCII } from 'node:url';
import { createEndpoint, DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { BrandfillError } from '../common/errors.ts';
import type { BatchFile, BillingFile, SampleFile } from './profile-schema.ts';
import type { Profile } from './read-profile.ts';
import { tolerant } from './rules.ts';
import { bodyText } from './samples.ts';

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
  /** How it answers several domains in one call, where it has batches. */
  readonly batch: PlayedBatch | undefined;
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
    batch: content.batch && playBatch(content.batch),
    reply: (domain, call) => {
      const sample = sampleOf(domain);
      const isReady = PASSING.has(sample.means) && call > CALLS_UNTIL_READY;
      const played = isReady ? found : sample;
      return { ...answerOf(played, domain), charge: chargeOf(played, content.billing) };
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

/** What an API bills for a sample, by what the sample is said to mean. */
function chargeOf(sample: SampleFile, billing: BillingFile | undefined): number {
  if (!billing) return sample.status === 200 || sample.status === 404 ? 1 : 0;
  const { price = 1, bills = ['found'], cost } = billing;
  const stated =
    cost === undefined
      ? undefined
      : 'header' in cost
        ? sample.headers?.[cost.header]
        : tolerant(compileExpression(cost.body))(sample.body);
  if (stated !== undefined && stated !== null) return Number(stated);
  return bills.includes(sample.means) ? price : 0;
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
    if (inPath !== undefined) return decodeURIComponent(inPath);
    const given = new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1));
    return name === undefined ? undefined : (given.get(name) ?? undefined);
  };
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

/** How the batches of an API are answered that is played by the sandbox. */
export interface PlayedBatch {
  readonly method: 'GET' | 'POST';
  /** The domains that a request asks about; undefined for one that is no batch. */
  domainsOf(target: string, body: string): readonly string[] | undefined;
  /** One reply, of what each domain would be answered alone. */
  replyOf(answers: ReadonlyMap<string, PlayedAnswer>): PlayedAnswer;
  /** Whether a request is one about a batch, as its path shows. */
  isAskedAt(target: string): boolean;
}

/**
 * Plays the batches of a profile, as far as its expressions are names with dots between them: from such a
 * one can be told where in a reply something belongs.
 *
 * @throws BrandfillError `INVALID_SETTING` for an expression that is more than that
 */
function playBatch(batch: BatchFile): PlayedBatch {
  const { method = 'POST', path, params = {}, separator = ',' } = batch;
  const [records, domain, status, answer] = (
    ['records', 'domain', 'status', 'answer'] as const
  ).map((key) => stepsOf(key, batch[key]));
  const [askedPath = '', query = ''] = path.split('?');
  const inQuery = { ...Object.fromEntries(new URLSearchParams(query)), ...params };

  return {
    method,
    isAskedAt: (target) => new URL(target, 'http://sandbox').pathname.endsWith(askedPath),
    domainsOf: (target, body) => {
      const given = new URL(target, 'http://sandbox').searchParams;
      const found = Object.entries(inQuery).flatMap(([name, template]) =>
        domainsIn(template, given.get(name) ?? '', separator),
      );
      if (found.length > 0) return found.map(nameOf);
      try {
        return domainsIn(batch.body, JSON.parse(body), separator).map(nameOf);
      } catch {
        return undefined;
      }
    },
    replyOf: (answers) => {
      const entries = [...answers].map(([name, alone]) => {
        const said = tryParse(alone.body);
        let entry: unknown = answer ? setAt({}, answer, alone.status < 400 ? said : null) : said;
        if (domain) entry = setAt(entry, domain, name);
        return status ? setAt(entry, status, alone.status) : entry;
      });
      const reply = records ? setAt({}, records, entries) : entries;
      return { status: 200, headers: {}, body: JSON.stringify(reply) };
    },
  };
}

/** The names along an expression; undefined for none, and for the whole. */
function stepsOf(key: string, expression: string | undefined): readonly string[] | undefined {
  if (expression === undefined || expression === '@') return undefined;
  if (/^[a-z_]\w*(\.[a-z_]\w*)*$/i.test(expression)) return expression.split('.');
  throw new BrandfillError(
    'INVALID_SETTING',
    `cannot play its batches: '${key}' is '${expression}', and only names with dots between them say where something belongs in a reply; leave 'batch' out of a copy of the profile`,
  );
}

function setAt(target: unknown, [step, ...more]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const object = isJsonObject(target) ? target : {};
  return { ...object, [step]: setAt(object[step], more, value) };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? null : text;
  }
}

/** The domains that stand in a value where its template has them. */
function domainsIn(template: unknown, value: unknown, separator: string): readonly string[] {
  if (template === DOMAINS && Array.isArray(value)) return value.map(String);
  if (typeof template === 'string') {
    const mark = template.includes(DOMAINS) ? DOMAINS : DOMAIN;
    if (!template.includes(mark) || typeof value !== 'string') return [];
    const [before = '', after = ''] = template.split(mark);
    const inner = value.slice(before.length, value.length - after.length);
    return inner === '' ? [] : mark === DOMAINS ? inner.split(separator) : [inner];
  }
  if (Array.isArray(template)) {
    const [entry] = template;
    if (!Array.isArray(value)) return [];
    return value.flatMap((one, at) =>
      domainsIn(template.length === 1 ? entry : template[at], one, separator),
    );
  }
  if (!isJsonObject(template) || !isJsonObject(value)) return [];
  return Object.entries(template).flatMap(([name, part]) =>
    domainsIn(part, value[name], separator),
  );
}

function nameOf(domain: string): string {
  return domainToASCII(domain) || domain;
}
