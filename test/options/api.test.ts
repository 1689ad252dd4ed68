import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCredential, isCredentialName } from '../../src/brand/credential.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import { callsIdOf, createJob, type Job, paceIdOf } from '../../src/options/api.ts';
import { flagOf, type OptionKey } from '../../src/options/options.ts';
import { useTempFolder } from '../support/temp-folder.ts';

function create(
  given: Partial<Record<OptionKey, unknown>>,
  { env = {}, apiKey }: { env?: Record<string, string>; apiKey?: string } = {},
): Job {
  const withUrl = { baseUrl: 'https://h.example', ...given };
  return createJob({ given: withUrl, apiKey, env, describe: flagOf });
}

function writeKey(text: string): string {
  const file = join(useTempFolder(), 'key');
  writeFileSync(file, text);
  return file;
}

const authorizationOf = ({ credential }: Job): unknown => Object.fromEntries(credential.headers);

describe('a job', () => {
  it('has an endpoint made of base URL, parameters and a credential that goes into the query', () => {
    const job = create(
      { baseUrl: 'https://h.example/api', params: ['lang=de'], auth: 'query:key' },
      { apiKey: 's3cret' },
    );
    expect(job.endpoint.origin).toBe('https://h.example');
    expect(job.endpoint.path('acme.com')).toBe('/api/v1/brand?domain=acme.com&lang=de&key=s3cret');
    expect(job.endpoint.id).toBe(
      create({ baseUrl: 'https://h.example/api', params: ['lang=de'] }).endpoint.id,
    );
  });

  it.each([
    ['http://h.example', 1],
    ['http://10.0.0.1:8080', 1],
    ['https://h.example', 0],
    ['http://127.0.0.1:8080', 0],
    ['http://[::1]:8080', 0],
    ['http://localhost', 0],
  ])('says where a credential goes in the open: %s', (baseUrl, notices) => {
    expect(create({ baseUrl, auth: 'bearer' }, { apiKey: 's3cret-key' }).notices).toHaveLength(
      notices,
    );
    expect(create({ baseUrl }).notices).toEqual([]);
  });

  it('says when there is a credential that goes nowhere', () => {
    expect(create({}, { env: { BRANDFILL_API_KEY: 's3cret' } }).notices).toEqual([
      'A credential is set, but --auth is none: calls are made without it.',
    ]);
    expect(create({}).notices).toEqual([]);
    expect(create({ auth: 'bearer' }, { apiKey: 's3cret' }).notices).toEqual([]);
  });
});

describe('the credential of a job', () => {
  it('comes from the environment', () => {
    const job = create({ auth: 'bearer' }, { env: { BRANDFILL_API_KEY: ' s3cret\n' } });
    expect(authorizationOf(job)).toEqual({ authorization: 'Bearer s3cret' });
  });

  it('comes from a file before the environment, without the line end', () => {
    const env = { BRANDFILL_API_KEY: 'from env' };
    for (const text of ['s3cret', 's3cret\n', '\uFEFFs3cret\r\n', ' s3cret ']) {
      const job = create({ auth: 'bearer', apiKeyFile: writeKey(text) }, { env });
      expect(authorizationOf(job)).toEqual({ authorization: 'Bearer s3cret' });
    }
  });

  it('comes from a program before all else', () => {
    const job = create(
      { auth: 'bearer', apiKeyFile: '/nowhere' },
      { env: { BRANDFILL_API_KEY: 'from env' }, apiKey: 's3cret' },
    );
    expect(authorizationOf(job)).toEqual({ authorization: 'Bearer s3cret' });
  });

  it('must be there if it is wanted', () => {
    expect(() => create({ auth: 'bearer' })).toThrow(
      'Cannot use --auth bearer: there is no credential; set BRANDFILL_API_KEY or give --api-key-file FILE.',
    );
    expect(() => create({ auth: 'bearer' }, { env: { BRANDFILL_API_KEY: ' ' } })).toThrow(
      'there is no credential',
    );
  });

  it('must be in the file that is given', () => {
    const folder = useTempFolder();
    const empty = writeKey(' \n');
    for (const [file, why] of [
      [join(folder, 'none'), 'there is no such file or folder'],
      [folder, 'it is a folder, not a file'],
      [empty, 'it is empty'],
    ]) {
      expect(() => create({ auth: 'bearer', apiKeyFile: file })).toThrow(
        expect.objectContaining({
          code: 'INVALID_SETTING',
          message: `Cannot read the credential from ${file}: ${why}.`,
        }),
      );
    }
  });

  it('is in no message about it', () => {
    const file = writeKey('s3cret\nsecond line');
    for (const auth of ['bearer', 'basic', 'header:x-key']) {
      expect(() => create({ auth, apiKeyFile: file })).toThrow('check for line breaks');
      expect(() => create({ auth, apiKeyFile: file })).not.toThrow(/s3cret|second/);
    }
  });
});

function jobOf(given: Readonly<Record<string, unknown>>, env: Record<string, string> = {}) {
  return createJob({
    given: { baseUrl: 'https://api.example.com', ...given },
    env,
    describe: flagOf,
  });
}

it.each([
  'key',
  'API_KEY',
  'X-Api-Key',
  'access_token',
  'client_secret',
  'Ocp-Apim-Subscription-Key',
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
      params: ['key=s3cret-one', 'lang=en'],
      headers: ['X-Api-Key=s3cret-two'],
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
      { params: ['key=s3cret-one'], headers: ['X-Token=Bearer s3cret-two'] },
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
