import { z } from 'zod';
import { isCredentialName, isReservedHeader, parseAuth } from '../brand/credential.ts';
import { DOMAIN, DOMAINS, parseBaseUrl } from '../brand/endpoint.ts';
import { compileExpression, ExpressionError } from '../collector/fields/expression.ts';
import { BrandfillError } from '../common/errors.ts';
import { parseDuration, parseRate } from '../options/types.ts';

/**
 * The shape of a profile. It is said once: what is read, what editors check (the JSON Schema in
 * `apis/profile.schema.json`) and the types come from here.
 */

/** A profile as it stands in its file. The shape below says what each key is for. */
export type ProfileFile = z.infer<typeof profileShape>;
export type RuleFile = z.infer<typeof rule>;
/** What an API bills. */
export type BillingFile = z.infer<typeof billing>;
/** How several domains are asked about in one call. */
export type BatchFile = z.infer<typeof batch>;
/** One of the limits that an API states. */
export type WindowFile = z.infer<typeof window>;
/** An answer, and what it has to mean. */
export type SampleFile = z.infer<typeof sample>;

/** A text that one of our parsers reads; what the parser says of it is the mistake. */
function parsed(parse: (text: string) => unknown): z.ZodString {
  return z.string().superRefine((text, context) => {
    try {
      parse(text);
    } catch (error) {
      const isExpected = error instanceof BrandfillError || error instanceof ExpressionError;
      if (!isExpected) throw error;
      const at = error instanceof ExpressionError ? error.at : 0;
      context.addIssue({ code: 'custom', message: error.message, params: { at } });
    }
  });
}

/** A text in which something else is wrong; undefined when nothing is. */
function checked(findProblem: (text: string) => string | undefined): z.ZodString {
  return parsed((text) => {
    const problem = findProblem(text);
    if (problem !== undefined) throw new BrandfillError('INVALID_SETTING', problem);
  });
}

const expression = (what: string) => parsed(compileExpression).describe(`${what}, as JMESPath`);
const duration = (what: string) => parsed(parseDuration).describe(`${what}, such as 90s or 2min`);
const headerName = checked((name) =>
  HEADER_NAME.test(name) ? undefined : 'expected the name of a header, such as x-credits-spent',
);
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** `404`, or `500-599`. */
const statusRange = checked((text) => {
  const [, from, to] = STATUS_RANGE.exec(text) ?? [];
  return Number(from) <= Number(to)
    ? undefined
    : 'expected a status such as 404 or a range such as 500-599';
});
export const STATUS_RANGE: RegExp = /^([1-5]\d\d)-([1-5]\d\d)$/;

const A_STATUS = 'expected a status such as 404, a range such as 500-599, or a list of them';
const oneStatus = z.int().min(100, A_STATUS).max(599, A_STATUS);
const oneOrRange = z.union([oneStatus, statusRange], { error: A_STATUS });
const status = z.union([oneStatus, statusRange, z.array(oneOrRange).min(1, A_STATUS)], {
  error: A_STATUS,
});

const when = z
  .strictObject({
    status: status.optional().describe('the status: one, a range such as 500-599, or a list'),
    header: z
      .strictObject({
        name: headerName.describe('the header that the answer has'),
        pattern: parsed(toPattern)
          .optional()
          .describe('a regular expression that its value fits, whatever the case'),
      })
      .optional()
      .describe('a header of the answer'),
    body: expression('what is true of the body').optional(),
  })
  .describe('what has to be true of an answer, all of it');

const unit = z
  .enum(['s', 'ms'])
  .optional()
  .describe('the unit of a number that is no point in time (default: s)');
const wait = z.union(
  [
    duration('how long'),
    z.strictObject({ header: headerName.describe('the header that says how long'), unit }),
    z.strictObject({ body: expression('where the body says how long'), unit }),
  ],
  { error: "expected a duration such as 90s, { header: NAME } or { body: 'JMESPath' }" },
);

const means = z
  .enum([
    'found',
    'not_found',
    'pending',
    'rejected',
    'throttled',
    'quota',
    'unauthorized',
    'retry',
    'failed',
  ])
  .describe('what the answer means');

const rule = z.strictObject({
  when,
  means,
  wait: wait.optional().describe('how long to wait, with pending, throttled, quota and retry'),
  reason: expression('where the body says why').optional(),
  note: z.string().optional().describe('why the rule is there, for people'),
});

const request = z
  .strictObject({
    baseUrl: parsed(parseBaseUrl).describe('base URL of the API'),
    path: checked(findPathProblem)
      .optional()
      .describe('path, {domain} standing for the domain (default: /v1/brand?domain={domain})'),
    params: z
      .record(checked(findCredential), z.string())
      .optional()
      .describe('query parameters of every call, {domain} standing for the domain'),
    headers: z
      .record(
        checked((name) =>
          !HEADER_NAME.test(name)
            ? 'expected the name of a header'
            : isReservedHeader(name) || /^(proxy-)?authorization$|^cookie$/i.test(name)
              ? `'${name}' is set by Brandfill itself; say in 'auth' how the credential is sent`
              : findCredential(name),
        ),
        z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'it has characters that no header can carry'),
      )
      .optional()
      .describe('headers of every call; no credential'),
    auth: parsed(parseAuth)
      .optional()
      .describe('how the credential is sent: none, bearer, basic, header:NAME or query:NAME'),
    apiKeyEnv: z
      .string()
      .regex(
        /^[A-Za-z_][A-Za-z0-9_]*$/,
        'expected the bare name of an environment variable; the credential itself does not belong here',
      )
      .optional()
      .describe('name of the environment variable that holds the credential'),
  })
  .describe('how the API is asked about one domain');

const window = z.strictObject({
  per: duration('how long the window is').optional(),
  limit: headerName.optional().describe('the header with the calls that it allows'),
  remaining: headerName.optional().describe('the header with the calls that are left'),
  reset: headerName.optional().describe('the header that says when it begins anew'),
  unit,
  member: z
    .string()
    .min(1)
    .optional()
    .describe('where these headers hold objects such as {minute: 100}: the member that counts'),
});

const limits = z
  .strictObject({
    rate: checked((text) =>
      parseRate(text) === 'auto' ? 'expected a rate such as 100/s or 600/min' : undefined,
    )
      .optional()
      .describe('the documented rate, which calls start at until the API shows another'),
    windows: z
      .array(window)
      .min(1)
      .optional()
      .describe('the limits that answers state in headers, several at once'),
  })
  .describe('how fast the API may be asked');

const billing = z
  .strictObject({
    unit: z.string().min(1).describe('what is billed, such as credits'),
    price: z
      .number()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('units for each answer that is billed (default: 1)'),
    bills: z
      .array(z.enum(['found', 'not_found', 'pending', 'rejected', 'failed']))
      .optional()
      .describe('which answers are billed, by what they mean (default: found)'),
    cost: z
      .union(
        [
          z.strictObject({ header: headerName.describe('the header that says it') }),
          z.strictObject({ body: expression('where the body says it') }),
        ],
        { error: "expected { header: NAME } or { body: 'JMESPath' }" },
      )
      .optional()
      .describe('where an answer says what it cost, which then counts instead of the price'),
  })
  .describe('what the API bills');

const batch = z
  .strictObject({
    method: z.enum(['GET', 'POST']).optional().describe('the method (default: POST)'),
    path: checked((path) => findPathProblem(path, [DOMAINS])).describe(
      'path and query; {domains} stands for all domains of the call, with commas between',
    ),
    body: z
      .unknown()
      .optional()
      .describe(
        "body of a POST: '{domains}' becomes the list of domains; a list with one entry that holds {domain} gets one for each",
      ),
    size: z.int().min(2).max(1_000).describe('the most domains in one call'),
    records: expression(
      'where the reply has the answers: a list, or an object by domain (default: the reply)',
    ).optional(),
    domain: expression(
      'where an entry of the list has its domain (default: they are in the order asked)',
    ).optional(),
    status: expression('where an entry has a status of its own').optional(),
    answer: expression(
      'what of an entry is as an answer about one domain, for rules and data (default: the entry)',
    ).optional(),
  })
  .describe('how the API is asked about several domains in one call, if it can be');

const sample = z.strictObject({
  status: oneStatus.describe('status of the answer'),
  headers: z.record(headerName, z.string()).optional().describe('its headers'),
  body: z.unknown().optional().describe('its body, as JSON; a text is sent as it is'),
  means,
});

export const profileShape = z.strictObject({
  $schema: z.string().optional(),
  title: z
    .string()
    .min(1)
    .optional()
    .describe('what the API is called (default: the name of the file)'),
  note: z.string().optional().describe('what people should know before they use it'),
  sources: z.array(z.url()).optional().describe('where the facts in it come from'),
  asOf: z.iso.date().optional().describe('the day on which the sources were read'),
  triedLive: z
    .boolean()
    .optional()
    .describe('whether anybody tried it against the live service (default: false)'),
  request,
  rules: z
    .array(rule)
    .optional()
    .describe('what answers mean; the first rule that fits counts, else what every API means'),
  data: expression('where in an answer the record is').optional(),
  limits: limits.optional(),
  billing: billing.optional(),
  batch: batch.optional(),
  columns: z
    .record(z.string(), parsed(compileExpression))
    .optional()
    .describe('output columns by name, as JMESPath on the record, unless --fields says others'),
  fresh: z
    .strictObject({
      found: duration('of answers').optional(),
      notFound: duration('of domains that were not found, or that the API refused').optional(),
    })
    .optional()
    .describe('how long outcomes stay fresh, unless --fresh and the like say otherwise'),
  samples: z
    .array(sample)
    .optional()
    .describe('answers and what they mean, checked whenever the profile is read'),
});

/** The regular expression of a rule. @throws BrandfillError when it is none */
export function toPattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new BrandfillError(
      'INVALID_SETTING',
      why.replace(/^Invalid regular expression: .*: /, ''),
    );
  }
}

/** Says that a parameter or header is a credential, which does not belong in a profile. */
function findCredential(name: string): string | undefined {
  return isCredentialName(name)
    ? `'${name}' is a credential; say in 'auth' how it is sent, and name the variable that holds it in 'apiKeyEnv'`
    : undefined;
}

function findPathProblem(path: string, known: readonly string[] = [DOMAIN]): string | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path) || path.includes('#')) {
    return 'expected a path that begins with /, such as /v2/brands/{domain}';
  }
  const query = new URLSearchParams(path.split('?')[1] ?? '');
  const credential = [...query.keys()].map(findCredential).find((problem) => problem);
  if (credential !== undefined) return credential;
  const stray = path.match(/\{[^}]*\}?/g)?.find((name) => !known.includes(name));
  return stray === undefined
    ? undefined
    : `there is no '${stray}'; ${known.join(' or ')} is what can stand there`;
}

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
