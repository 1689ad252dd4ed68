import { describe, expect, it } from 'vitest';
import { isCredentialName } from '../../src/brand/credential.ts';
import { createJob } from '../../src/job/job.ts';
import { flagOf } from '../../src/job/read-settings.ts';

function jobOf(given: Readonly<Record<string, unknown>>, env: Record<string, string> = {}) {
  return createJob({
    given: { baseUrl: 'https://api.example.com', ...given },
    env,
    describe: flagOf,
  });
}

it.each([
  'key',
  'apikey',
  'API_KEY',
  'X-Api-Key',
  'apiKey',
  'token',
  'access_token',
  'X-Auth-Token',
  'accessToken',
  'client_secret',
  'password',
  'Ocp-Apim-Subscription-Key',
  'authorization',
  'auth',
])('%s is the name of a credential', (name) => {
  expect(isCredentialName(name)).toBe(true);
});

it.each(['lang', 'token_type', 'keyword', 'monkey', 'keys', 'X-Tenant', 'author', 'secretary'])(
  '%s is not',
  (name) => {
    expect(isCredentialName(name)).toBe(false);
  },
);

describe('a credential among parameters or headers', () => {
  it('is told of once each, with what to give instead, and never repeated', () => {
    const { notices } = jobOf({
      param: ['key=s3cret-one', 'lang=en'],
      header: ['X-Api-Key=s3cret-two'],
    });
    expect(notices).toEqual([
      expect.stringContaining(
        "'key' in --param looks like a credential: give it with --auth query:key and BRANDFILL_API_KEY or --api-key-file",
      ),
      expect.stringContaining("'X-Api-Key' in --header looks like a credential"),
    ]);
    expect(notices.join(' ')).not.toContain('s3cret');
  });

  it('is taken out of answers, as is the login of a proxy', () => {
    const { credential } = jobOf(
      { param: ['key=s3cret-one'], header: ['X-Token=Bearer s3cret-two'] },
      { HTTPS_PROXY: 'http://me:s3cret%2Fthree@proxy.example' },
    );
    const said = 's3cret-one s3cret-two s3cret/three';
    expect(credential.redactor.json(JSON.stringify({ said }))).toBe(
      '{"said":"[redacted] [redacted] [redacted]"}',
    );
  });
});

it('a short credential is told of, because answers keep it', () => {
  const env = { BRANDFILL_API_KEY: 'abcde' };
  expect(jobOf({ auth: 'bearer' }, env).notices).toEqual([
    expect.stringContaining('The credential has fewer than 6 characters'),
  ]);
  expect(jobOf({ auth: 'bearer' }, { BRANDFILL_API_KEY: 'abcdef' }).notices).toEqual([]);
});
