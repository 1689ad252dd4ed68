import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { BatchProfile } from '../brand/api-profile.ts';
import { DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { expression, path } from './texts.ts';

const shape = z
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
export const batch = shape
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
  { records: find, domain }: Pick<z.output<typeof shape>, 'records' | 'domain'>,
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
