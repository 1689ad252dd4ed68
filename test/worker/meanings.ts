import type { Meaning } from '../../src/brand/meaning.ts';

const JSON_ANSWER = { fingerprint: '', form: 'json', reason: 'http_200' } as const;

/** A record, which names the domain unless it is one for all. */
export const found = (domain: string): Meaning => ({
  ...JSON_ANSWER,
  kind: 'found',
  httpStatus: 200,
  json: `{"name":"${domain}"}`,
  fingerprint: domain,
});

function failing(kind: Exclude<Meaning['kind'], 'found' | 'redirect'>, httpStatus: number) {
  return (fingerprint = ''): Meaning => ({
    ...JSON_ANSWER,
    kind,
    httpStatus,
    reason: `http_${httpStatus}`,
    said: fingerprint,
    fingerprint,
  });
}

export const unauthorized = failing('refused', 401);
export const unpaid = failing('refused', 402);
export const forbidden = failing('refused', 403);
export const invalid = failing('rejected', 422);
export const unknown = failing('not_found', 404);
export const page = (text = ''): Meaning => ({ ...unknown(text), form: 'page' });
export const broken = failing('away', 500);
export const away = failing('away', 503);
export const throttled = failing('throttled', 429);
export const quota = failing('quota', 402);
/** No call leaves this machine. */
export const machine: Meaning = { ...failing('machine', 0)('no_route'), form: 'none' };
/** What is asked is answered elsewhere. */
export const sentTo = (path: string): Meaning => ({
  ...JSON_ANSWER,
  kind: 'redirect',
  path,
  httpStatus: 301,
  reason: 'http_301',
});
export const later = (meaning: Meaning, retryAfterMs: number): Meaning => ({
  ...meaning,
  retryAfterMs,
});
