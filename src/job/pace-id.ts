import { createHash } from 'node:crypto';
import type { Api } from './job.ts';
import type { Settings } from './settings.ts';

/**
 * Identifies one credential at one API, for workers that share its pace. It is a hash, from which
 * the credential cannot be recovered. Workers with another rate have a pace of their own.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  return hash([endpoint.id, credential.headers, credential.queryParam, settings.rate]);
}

/** The same for workers and runs whose calls are counted together, whatever their rates. */
export function callsIdOf({ endpoint, credential }: Pick<Api, 'endpoint' | 'credential'>): string {
  return hash([endpoint.id, credential.headers, credential.queryParam]);
}

function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
