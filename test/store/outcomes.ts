import { onTestFinished } from 'vitest';
import type { Outcome } from '../../src/calls/outcome.ts';
import type { OpenOptions } from '../../src/store/database.ts';
import { type OutcomeStore, openStores } from '../../src/store/store.ts';

/** An outcome; `found` unless told otherwise. */
export function outcomeOf(domain: string, outcome: Partial<Outcome> = {}): Outcome {
  return {
    domain,
    status: 'found',
    reason: '',
    said: undefined,
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: 1_000,
    json: '{"name":"Acme"}',
    ...outcome,
  };
}

/** Opens the store in a folder for the outcomes of one API. */
export async function openStore(
  folder: string,
  endpointId: string,
  { apiName, ...opening }: OpenOptions & { readonly apiName?: string } = {},
): Promise<OutcomeStore> {
  const [store] = await openStores(folder, [{ endpointId, apiName }], opening);
  return store;
}

/** Opens a store that is closed when the test ends. */
export async function useStore(folder: string, endpointId = 'endpoint'): Promise<OutcomeStore> {
  const store = await openStore(folder, endpointId, { isBeside: true });
  onTestFinished(() => store.close());
  return store;
}
