import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { BatchProfile } from '../brand/api-profile.ts';
import { parseAuth } from '../brand/credential.ts';
import { DOMAIN, DOMAINS, type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import {
  combinePolicies,
  fieldText,
  findLimits,
  findNumber,
  findWaitMs,
  timeOf,
} from '../brand/limits.ts';
import type { ResponseHeaders } from '../brand/transport.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { refusal } from '../common/errors.ts';
import { checkHeader, parseCallsPer, parseRate, variableName } from '../options/kinds.ts';
import { kind } from '../options/option.ts';
import { billing, rules } from './rules.ts';
import { sample } from './samples.ts';
import { duration, expression, findCredential, headerName, parsed, path } from './texts.ts';

// What a profile is, said once: what is read and made ready for calls, what editors check (the JSON
// Schema in `apis/profile.schema.json`), and its types.

/** Values by name that go with every call, none of them a credential. */
const named = (help: string, check: (pair: NameValue) => void) =>
  kind(z.record(z.string(), z.string()), (given) => {
    const pairs = Object.entries(given);
    for (const [name, value] of pairs) {
      const problem = findCredential(name);
      if (problem !== undefined) throw refusal(problem);
      check([name, value]);
    }
    return pairs;
  }).describe(help);

/** The body of a call about one domain. */
const jsonBody = kind(z.unknown(), (given) => {
  JSON.stringify(given, (name, value: unknown) => {
    const problem = findCredential(name);
    if (problem !== undefined) throw refusal(problem);
    return value;
  });
  return given;
}).describe(`the body, which makes it a POST of JSON; ${DOMAIN} stands for the domain`);

const request = z
  .strictObject({
    baseUrl: parsed('base URL of the API', parseBaseUrl),
    path: path(`path and query (default: /v1/brand?domain=${DOMAIN})`, DOMAIN),
    body: jsonBody,
    params: named(`query parameters of every call, ${DOMAIN} standing for the domain`, () => {}),
    headers: named('headers of every call; no credential', checkHeader),
    auth: parsed('none, bearer, basic, header:NAME or query:NAME', parseAuth),
    apiKeyEnv: variableName,
    redirects: z
      .literal('signed')
      .describe(
        'redirects to another host lead to signed addresses, which are read once and without the credential (default: they are not followed)',
      ),
  })
  .partial()
  .required({ baseUrl: true })
  .refine(
    // Without a path of its own, the standard one has the domain.
    ({ path: own = DOMAIN, params = [], body = '' }) =>
      [own, ...params.map(([, value]) => value), JSON.stringify(body)].some((text) =>
        text.includes(DOMAIN),
      ),
    {
      path: ['path'],
      error: `expected ${DOMAIN} in it, in 'body' or in the value of one of 'params': without it each call would ask the same`,
    },
  )
  .describe('how the API is asked about one domain');

const window = z
  .strictObject({
    per: duration('how long the window is'),
    limit: headerName('the header with the calls that it allows'),
    remaining: headerName('the header with the calls that are left'),
    reset: headerName('the header that says when it begins anew'),
  })
  .partial();

/** What the headers of an answer say of one limit. */
function policyIn(
  { per: perMs = 0, limit, remaining, reset }: z.output<typeof window>,
  headers: ResponseHeaders,
  nowMs: number,
) {
  const countIn = (name = ''): number | undefined => {
    const number = findNumber(fieldText(headers[name]));
    return number && Math.floor(number);
  };
  const count = countIn(limit);
  return {
    quota: count && perMs > 0 ? { count, perMs } : undefined,
    remaining: countIn(remaining),
    resetMs: findWaitMs(headers[reset ?? ''], timeOf(headers, nowMs)),
  };
}

const limits = z
  .strictObject({
    rate: parsed('the documented rate, which calls start at', (text) => parseRate(text)),
    quota: parsed(
      'the calls that your plan has, such as 1000/day Europe/Berlin (default of --max-calls-per)',
      parseCallsPer,
    ),
    windows: z
      .array(window)
      .min(1)
      // Where an answer has none of them, the headers that everybody knows count. Retry-After
      // always does.
      .transform((all) => (headers: ResponseHeaders, nowMs: number) => {
        const known = findLimits(headers, nowMs);
        const stated = combinePolicies(all.map((one) => policyIn(one, headers, nowMs)));
        return stated ? { ...known, limits: stated } : known;
      })
      .describe('the limits that answers state in headers, several at once'),
  })
  .partial()
  .describe('how fast the API may be asked');

const batchShape = z
  .strictObject({
    method: z.enum(['GET', 'POST']).describe('the method (default: POST)'),
    path: path(`path and query; ${DOMAINS} stands for all domains, with commas between`, DOMAINS),
    body: z
      .unknown()
      .describe(`'${DOMAINS}' becomes the list; a list of one with ${DOMAIN} has one for each`),
    size: z.int().min(2).max(1_000).describe('the most domains in one call'),
    counts: z
      .enum(['calls', 'domains'])
      .describe('what its limits, --max-calls and --max-calls-per count (default: calls)'),
    records: expression('where the reply has a list, or an object by domain (default: the reply)'),
    domain: expression('where an entry has its domain (default: in the order asked)'),
    status: expression('where an entry has a status of its own'),
    answer: expression('what of an entry is as an answer about one domain (default: the entry)'),
  })
  .partial()
  .required({ path: true, size: true });

/** How an API is asked about several domains at once, and where their answers are in its reply. */
const batch = batchShape
  .refine(
    ({ method, path: asked, body = null }) =>
      asked.includes(DOMAINS) || (method !== 'GET' && /\{domains?\}/.test(JSON.stringify(body))),
    `expected ${DOMAINS} in 'path' or 'body', or ${DOMAIN} in the one entry of a list in 'body': without it no call would say what it asks about`,
  )
  .transform(
    ({ method = 'POST', path: asked, body, size, counts = 'calls', ...find }): BatchProfile => ({
      size,
      counts,
      method,
      pathOf: (domains) =>
        asked.replaceAll(DOMAINS, domains.map((domain) => encodeURIComponent(domain)).join(',')),
      bodyOf: (domains) =>
        body === undefined || method === 'GET' ? undefined : JSON.stringify(fill(body, domains)),
      answersIn: (reply, domains) => {
        const items = itemsIn(reply, domains, find);
        const answerOf = (item: unknown) => ({
          httpStatus: status.safeParse(find.status?.(item)).data,
          body: find.answer ? find.answer(item) : item,
        });
        const answered = domains.filter((domain) => items?.has(domain));
        return items && new Map(answered.map((domain) => [domain, answerOf(items.get(domain))]));
      },
    }),
  )
  .describe('how the API is asked about several domains in one call, if it can be');

/** What a reply has of each domain; undefined when it has no answers at all. */
function itemsIn(
  reply: unknown,
  domains: readonly string[],
  { records: find, domain }: Pick<z.output<typeof batchShape>, 'records' | 'domain'>,
): ReadonlyMap<string, unknown> | undefined {
  const records = find ? find(reply) : reply;
  const named = (entries: readonly (readonly [unknown, unknown])[]) =>
    new Map(entries.map(([name, item]) => [nameOf(name), item]));
  if (isJsonObject(records) && !domain) return named(Object.entries(records));
  if (!Array.isArray(records)) return undefined;
  if (domain) return named(records.map((item: unknown) => [domain(item), item]));
  // In the order in which they were asked. With one too few, nobody knows whose is missing.
  return records.length === domains.length
    ? new Map(domains.map((name, at) => [name, records[at]]))
    : undefined;
}

/** A domain as it is asked about: in lower case and Punycode. */
function nameOf(value: unknown): string {
  return typeof value === 'string' ? domainToASCII(value.trim()) || value.trim() : '';
}

const status = z.coerce.number().int().min(100).max(599);

/** Puts the domains into the body. */
function fill(template: unknown, domains: readonly string[]): unknown {
  return JSON.parse(JSON.stringify(template), (_, part: unknown) => {
    if (part === DOMAINS) return domains;
    if (typeof part === 'string') return part.replaceAll(DOMAINS, domains.join(','));
    const entry = Array.isArray(part) && part.length === 1 ? JSON.stringify(part[0]) : '';
    if (!entry.includes(DOMAIN)) return part;
    return domains.map((domain) => JSON.parse(entry.replaceAll(DOMAIN, domain)) as unknown);
  });
}

/** A profile as it stands in its file. */
export type ProfileFile = z.input<typeof profileShape>;

export const profileShape = z
  .strictObject({
    $schema: z.string(),
    title: z.string().min(1).describe('what the API is called (default: the name of the file)'),
    note: z.string().describe('what people should know before they use it'),
    sources: z.array(z.url()).describe('where the facts in it come from'),
    asOf: z.iso.date().describe('the day on which the sources were read'),
    triedLive: z.boolean().describe('whether anybody tried it against the live service'),
    request,
    rules,
    data: expression('where in an answer the record is'),
    limits,
    billing,
    batch,
    columns: z
      .record(z.string(), parsed('', compileExpression))
      .describe('output columns by name, as JMESPath on the record, unless --fields says others'),
    fresh: z
      .strictObject({ found: duration('of answers'), notFound: duration('of other verdicts') })
      .partial()
      .describe('how long outcomes stay fresh, unless --fresh and the like say otherwise'),
    samples: z.array(sample).describe('answers and what they mean, checked at each reading'),
  })
  .partial()
  .required({ request: true });

/** The JSON Schema of profiles, for editors; `apis/profile.schema.json` holds it. */
export function profileSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(profileShape, { io: 'input', target: 'draft-7' });
  return {
    $schema,
    $id: 'urn:brandfill:profile',
    title: 'Brandfill profile of an API',
    description: 'How an API differs from the standard; see docs/apis.md.',
    ...schema,
  };
}
