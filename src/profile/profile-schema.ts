import { z } from 'zod';
import { parseAuth } from '../brand/credential.ts';
import { DOMAIN, type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
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
import { batch } from './batch.ts';
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
