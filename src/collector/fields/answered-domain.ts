import { domainToASCII } from 'node:url';
import type { JsonObject } from '../../brand/json-object.ts';

/** Where an answer names the domain that it is about. */
export const ANSWERED = 'domain';

/**
 * The domain that an answer names, if it is another than was asked: the company has moved, or the
 * answer is about another company.
 */
export function otherDomainIn(answer: JsonObject, asked: string): string | undefined {
  const named = answer[ANSWERED];
  if (named === asked || typeof named !== 'string' || named === '') return undefined;
  const host = named
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/[/?#:].*$/s, '');
  return withoutWww(domainToASCII(host)) === withoutWww(asked) ? undefined : named;
}

function withoutWww(domain: string): string {
  return domain.replace(/^www\./, '');
}
