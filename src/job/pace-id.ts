import { createHash } from 'node:crypto';
import type { Api } from './job.ts';
import type { Settings } from './settings.ts';

/**
 * Tells one credential at one API from all others, for those who share its pace: a hash, from which
 * no credential can be had back. Whoever wants another rate has a pace of its own.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  return hash([endpoint.id, credential.headers, credential.queryParam, settings.rate]);
}

/** The same for those whose calls are counted together, at whatever rate each of them makes its own. */
export function callsIdOf({ endpoint, credential }: Pick<Api, 'endpoint' | 'credential'>): string {
  return hash([endpoint.id, credential.headers, credential.queryParam]);
}

function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
