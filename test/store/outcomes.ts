import type { Outcome } from '../../src/brand/outcome.ts';

/** An outcome; `found` unless told otherwise. */
export function outcomeOf(domain: string, outcome: Partial<Outcome> = {}): Outcome {
  return {
    domain,
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: 1_000,
    json: '{"name":"Acme"}',
    ...outcome,
  };
}
