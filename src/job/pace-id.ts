import { createHash, scryptSync } from 'node:crypto';
import type { Api } from './job.ts';
import type { Settings } from './settings.ts';

/**
 * Identifies one credential at one API, for workers that share its pace. The credential goes through
 * a slow hash: names of keys in Redis are seen by many, and a weak password must not be found by
 * guessing. A random salt in Redis would be seen along with them. Workers with another rate have a
 * pace of their own.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  return hash([endpoint.id, markOf(endpoint, credential), settings.rate]);
}

/** The same for workers and runs whose calls are counted together, whatever their rates. */
export function callsIdOf({ endpoint, credential }: Pick<Api, 'endpoint' | 'credential'>): string {
  return hash([endpoint.id, markOf(endpoint, credential)]);
}

function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** Credentials of this process by what they are sent as, because each takes its time. */
const MARKS = new Map<string, string>();
const MOST_MARKS = 1_000;
/** 16 MiB and some 40 ms for each guess. */
const COST = { N: 16_384, r: 8, p: 1 };

function markOf(endpoint: Api['endpoint'], { headers, queryParam }: Api['credential']): string {
  if (headers.length === 0 && queryParam === undefined) return '';
  const sent = JSON.stringify([endpoint.id, headers, queryParam]);
  const known = MARKS.get(sent);
  if (known !== undefined) return known;
  if (MARKS.size >= MOST_MARKS) MARKS.clear();
  const mark = scryptSync(sent, `brandfill ${endpoint.id}`, 32, COST).toString('base64url');
  MARKS.set(sent, mark);
  return mark;
}
