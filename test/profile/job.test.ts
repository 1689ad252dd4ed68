import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCredential, isCredentialName } from '../../src/brand/credential.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import { callsIdOf, createJob, type Job, paceIdOf } from '../../src/profile/job.ts';
import { useTempFolder } from '../support/temp-folder.ts';

function jobOf(given: object, env: Record<string, string> = {}): Job {
  return createJob({ given: { baseUrl: 'https://h.example', ...given }, env });
}

function writeKey(text: string): string {
  const file = join(useTempFolder(), 'key');
  writeFileSync(file, text);
  return file;
}

const authorizationOf = ({ credential }: Job): unknown => Object.fromEntries(credential.headers);
const KEY = 's3cret-key';
const IN_ENV = { BRANDFILL_API_KEY: KEY };

it('a job has an endpoint made of base URL, parameters and a credential in the query', () => {
  const given = { baseUrl: 'https://h.example/api', params: ['lang=de'] };
  const { endpoint } = jobOf({ ...given, auth: 'query:key', apiKey: KEY });
  expect(endpoint.origin).toBe('https://h.example');
  expect(endpoint.path('acme.com')).toBe(`/api/v1/brand?domain=acme.com&lang=de&key=${KEY}`);
  expect(endpoint.id).toBe(jobOf(given).endpoint.id);
});

describe('the credential of a job', () => {
  const OTHER = { BRANDFILL_API_KEY: 'x' };

  it.each<[string, () => object, Record<string, string>]>([
    ['the environment', () => ({}), { BRANDFILL_API_KEY: ` ${KEY}\n` }],
    ['a file before that', () => ({ apiKeyFile: writeKey(`\uFEFF${KEY}\r\n`) }), OTHER],
    ['a program before all', () => ({ apiKeyFile: '/no', apiKey: KEY }), OTHER],
  ])('comes from %s', (_, given, env) => {
    const job = jobOf({ auth: 'bearer', ...given() }, env);
    expect(authorizationOf(job)).toEqual({ authorization: `Bearer ${KEY}` });
    expect(job.notices).toEqual([]);
  });

  it('must be there if it is wanted', () => {
    for (const env of [{}, { BRANDFILL_API_KEY: ' ' }])
      expect(() => jobOf({ auth: 'bearer' }, env)).toThrow(
        "Cannot use option 'auth' bearer: there is no credential; set BRANDFILL_API_KEY or give option 'apiKeyFile' FILE.",
      );
  });

  it.each([
    ['there is no such file or folder', () => 'my-api.key'],
    ['there is no such file or folder', () => './jobs/k3y'],
    ['there is no such file or folder', () => `${useTempFolder()}/my.txt`],
    ['it is a folder, not a file', useTempFolder],
    ['it is empty', () => writeKey(' \n')],
    ['it is too long for a credential', () => writeKey('x'.repeat(70_000))],
  ])('must be in the file that is given: %s', (why, fileOf) => {
    const apiKeyFile = fileOf();
    expect(() => jobOf({ auth: 'bearer', apiKeyFile })).toThrow(
      `Cannot use option 'apiKeyFile' (${apiKeyFile}): ${why}.`,
    );
  });

  it.each(['sk_live_51Hx', '/9j4AAQSkZJRg', 'eyJhbGciOi.eyJzdWIi.c2ln', 'a+b/c==', 'my key'])(
    'is not repeated where it stands in place of its file: %s',
    (apiKeyFile) => {
      expect(() => jobOf({ auth: 'bearer', apiKeyFile })).toThrow(
        "Cannot use option 'apiKeyFile': there is no such file or folder.",
      );
    },
  );

  it.each(['bearer', 'basic', 'header:x-key'])(
    'with two lines is refused, not repeated: %s',
    (auth) => {
      const apiKeyFile = writeKey('s3cret\nsecond line');
      expect(() => jobOf({ auth, apiKeyFile })).toThrow(
        /^(?!.*(s3cret|second)).*check for line breaks/s,
      );
    },
  );
});

it.each<[object, Record<string, string>, RegExp[]]>([
  [{ auth: 'bearer', baseUrl: 'http://h.example' }, IN_ENV, [/without encryption/]],
  [{ auth: 'bearer', baseUrl: 'http://10.0.0.1:8080' }, IN_ENV, [/without encryption/]],
  [{ auth: 'bearer', baseUrl: 'http://[::1]:8080' }, IN_ENV, []],
  [{ auth: 'bearer', baseUrl: 'http://localhost' }, IN_ENV, []],
  [{ baseUrl: 'http://h.example' }, {}, []],
  [{}, IN_ENV, [/^A credential is set, but option 'auth' is none: calls are made without it\.$/]],
  [{ auth: 'bearer' }, { BRANDFILL_API_KEY: 'abcde' }, [/has fewer than 6 characters/]],
  [
    { params: ['key=s3cret-one', 'lang=en'], headers: ['X-Api-Key=s3cret-two'] },
    {},
    [
      /^Of the parameters and headers, 'key', 'X-Api-Key' looks like a credential: say in option 'auth' (?!.*s3cret)/,
    ],
  ],
])('what is odd about %j with %j is said', (given, env, notices) => {
  expect(jobOf(given, env).notices).toEqual(notices.map((one) => expect.stringMatching(one)));
});

it('a credential among parameters or headers, and the login of a proxy, are taken out of answers', () => {
  const { credential } = jobOf(
    { params: ['key=s3cret-one'], headers: ['X-Token=Bearer s3cret-two'] },
    { HTTPS_PROXY: 'http://me:s3cret%2Fthree@proxy.example' },
  );
  const said = 's3cret-one s3cret-two s3cret/three';
  expect(credential.redactor.json(JSON.stringify({ said }))).toBe(
    '{"said":"[redacted] [redacted] [redacted]"}',
  );
});

it.each([
  [true, ['key', 'API_KEY', 'X-Api-Key', 'access_token', 'client_secret', 'auth']],
  [false, ['lang', 'token_type', 'keyword', 'monkey', 'X-Tenant', 'author']],
])('it is %s that these are names of credentials: %j', (isOne, names) => {
  expect(names.filter((name) => isCredentialName(name) !== isOne)).toEqual([]);
});

it.each([
  [{ failures: '-' }, /^Cannot use option 'failures': expected a file: standard output/],
  [{ changes: '-' }, /^Cannot use option 'changes': expected a file/],
  [{ fill: 'website' }, /received 'website'\.$/],
  [{ key: 'id' }, /^Cannot use option 'key' without option 'changes': give both\.$/],
  [{ logos: 'l' }, /^Cannot use option 'logos' without option 'logoField'/],
  [{ logoField: 'l' }, /^Cannot use option 'logoField' without option 'logos'/],
  [{ logosSvg: true }, /^Cannot use option 'logosSvg' without option 'logos'/],
  [{ workers: 0 }, /without a queue: give option 'queue'/],
  [{ workers: 0, queue: 'redis://h', maxCallsPer: '1/day' }, /give it to the workers/],
  [{ maxCost: 5 }, /^Cannot hold option 'maxCost' without a profile/],
  [
    { baseUrl: undefined },
    /^Cannot start without a base URL: give option 'baseUrl'.*option 'api'.*brandfill sandbox.*brandfill app/,
  ],
  [{ api: 'brandfech' }, /^Cannot use option 'api': there is no profile 'brandfech'; there are /],
  [{ api: KEY }, /^Cannot use option 'api': there is no such profile; there are /],
  [{ baseUrl: KEY }, /^Cannot use option 'baseUrl': expected a URL .*, received something else\.$/],
  [
    { api: 'brandfetch', auth: 'bearer' },
    /without a credential: set BRANDFETCH_API_KEY, or give option 'apiKeyFile'/,
  ],
])('%j makes no sense', (given, message) => {
  expect(() => jobOf(given)).toThrow(message);
});

it('what is given counts more than the profile, and the profile more than the environment', () => {
  const env = { BRANDFILL_BASE_URL: 'https://other.example', BRANDFETCH_API_KEY: KEY };
  const own = { baseUrl: undefined, api: 'brandfetch' };
  expect(jobOf(own, env).endpoint.origin).toBe('https://api.brandfetch.io');
  expect(jobOf({ ...own, baseUrl: 'https://mine.example' }, env).endpoint.origin).toBe(
    'https://mine.example',
  );
  expect(jobOf(own, env).settings.fields).toBeDefined();
});

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
  const { id } = createEndpoint({ baseUrl: 'https://api.example.com' });
  const { headers, queryParam } = createCredential({ kind: 'bearer' }, 'hunter2');
  const fast = (parts: readonly unknown[]): string =>
    createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
  expect(idsOf('hunter2')).not.toContain(fast([id, headers, queryParam, 'auto']));
  expect(idsOf('hunter2')).not.toContain(fast([id, headers, queryParam]));
});
