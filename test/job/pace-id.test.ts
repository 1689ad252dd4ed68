import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { createCredential } from '../../src/brand/credential.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import { callsIdOf, paceIdOf } from '../../src/job/job.ts';

const endpoint = createEndpoint({ baseUrl: 'https://api.example.com' });
const idsOf = (secret: string, baseUrl = 'https://api.example.com'): readonly string[] => {
  const api = {
    endpoint: createEndpoint({ baseUrl }),
    credential: createCredential({ kind: 'bearer' }, secret),
  };
  return [paceIdOf({ ...api, settings: { rate: 'auto' } }), callsIdOf(api)];
};

it('one credential at one API has one id in all processes', () => {
  expect(idsOf('hunter2')).toEqual(idsOf('hunter2'));
  const all = [idsOf('hunter2'), idsOf('hunter3'), idsOf('hunter2', 'https://b.example')].flat();
  expect(new Set(all).size).toBe(6);
});

it('a weak credential is not found by fast guesses at what its id is a hash of', () => {
  const { headers, queryParam } = createCredential({ kind: 'bearer' }, 'hunter2');
  const fast = (parts: readonly unknown[]): string =>
    createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
  expect(idsOf('hunter2')).not.toContain(fast([endpoint.id, headers, queryParam, 'auto']));
  expect(idsOf('hunter2')).not.toContain(fast([endpoint.id, headers, queryParam]));
});
