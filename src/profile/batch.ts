import { domainToASCII } from 'node:url';
import type { BatchedAnswer, BatchProfile } from '../brand/api-profile.ts';
import { DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import type { BatchFile } from './profile-schema.ts';
import { tolerant } from './rules.ts';

/** How an API is asked about several domains at once, and where their answers are in its reply. */
export function compileBatch(file: BatchFile): BatchProfile {
  const { method = 'POST', path, params = {}, body, size, separator = ',' } = file;
  const find = (expression: string | undefined): ((value: unknown) => unknown) =>
    expression === undefined ? () => undefined : tolerant(compileExpression(expression));
  const findRecords = tolerant(compileExpression(file.records ?? '@'));
  const findDomain = find(file.domain);
  const findStatus = find(file.status);
  const findAnswer = file.answer === undefined ? (item: unknown) => item : find(file.answer);

  const answerOf = (item: unknown): BatchedAnswer => ({
    httpStatus: statusOf(findStatus(item)),
    body: findAnswer(item),
  });

  return {
    size,
    method,
    pathOf: (domains) => {
      const joined = domains.map(encodeURIComponent).join(encodeURIComponent(separator));
      const query = Object.entries(params).map(
        ([name, value]) =>
          `${encodeURIComponent(name)}=${value.split(DOMAINS).map(encodeURIComponent).join(joined)}`,
      );
      const asked = path.replaceAll(DOMAINS, joined);
      if (query.length === 0) return asked;
      return `${asked}${asked.includes('?') ? '&' : '?'}${query.join('&')}`;
    },
    bodyOf: (domains) =>
      body === undefined || method === 'GET'
        ? undefined
        : JSON.stringify(fill(body, domains, separator)),
    answersIn: (reply, domains) => {
      const records = findRecords(reply);
      const found = new Map<string, BatchedAnswer>();
      if (isJsonObject(records) && file.domain === undefined) {
        const items = new Map(
          Object.entries(records).map(([name, item]) => [nameOf(name), item] as const),
        );
        for (const domain of domains) {
          if (items.has(domain)) found.set(domain, answerOf(items.get(domain)));
        }
        return found;
      }
      if (!Array.isArray(records)) return undefined;
      if (file.domain === undefined) {
        // In the order in which they were asked. With one too few, nobody knows whose is missing.
        if (records.length !== domains.length) return undefined;
        for (const [at, domain] of domains.entries()) found.set(domain, answerOf(records[at]));
        return found;
      }
      const asked = new Set(domains);
      for (const item of records) {
        const domain = nameOf(findDomain(item));
        if (asked.has(domain) && !found.has(domain)) found.set(domain, answerOf(item));
      }
      return found;
    },
  };
}

/** A domain as it is asked about: in lower case and Punycode. */
function nameOf(value: unknown): string {
  return typeof value === 'string' ? domainToASCII(value.trim()) || value.trim() : '';
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  const isStatus = typeof status === 'number' && status >= 100 && status <= 599;
  return isStatus && Number.isInteger(status) ? status : undefined;
}

/**
 * Puts the domains into the body: `{domains}` becomes their list, or part of a text, and a list with one
 * entry that holds `{domain}` gets such an entry for each.
 */
function fill(template: unknown, domains: readonly string[], separator: string): unknown {
  if (template === DOMAINS) return domains;
  if (typeof template === 'string') return template.replaceAll(DOMAINS, domains.join(separator));
  if (Array.isArray(template)) {
    const [entry] = template;
    return template.length === 1 && holds(entry, DOMAIN)
      ? domains.map((domain) => withDomain(entry, domain))
      : template.map((part) => fill(part, domains, separator));
  }
  if (!isJsonObject(template)) return template;
  const filled = Object.entries(template).map(([name, part]) => [
    name,
    fill(part, domains, separator),
  ]);
  return Object.fromEntries(filled);
}

/** Whether a text stands anywhere in a value. */
export function holds(value: unknown, text: string): boolean {
  return value !== undefined && JSON.stringify(value).includes(text);
}

function withDomain(template: unknown, domain: string): unknown {
  return JSON.parse(JSON.stringify(template), (_, part: unknown) =>
    typeof part === 'string' ? part.replaceAll(DOMAIN, domain) : part,
  );
}
