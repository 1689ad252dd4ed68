import { createHash } from 'node:crypto';
import type { Api } from './job/job.ts';
import type { Settings } from './job/settings.ts';

/**
 * Tells one credential at one API from all others, for those who share its pace: a hash, from which
 * no credential can be had back. Whoever wants another rate has a pace of its own.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  const { headers, queryParam } = credential;
  return createHash('sha256')
    .update(JSON.stringify([endpoint.id, headers, queryParam, settings.rate]))
    .digest('base64url')
    .slice(0, 22);
}
