import { createHash, scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Credential, createCredential, isCredentialName } from '../brand/credential.ts';
import { createEndpoint, type Endpoint, type NameValue } from '../brand/endpoint.ts';
import { proxyLogins } from '../brand/proxy.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { isShort } from '../common/redactor.ts';
import { keepCredentialName, keepSecret } from '../common/secrets.ts';
import type { Profile } from '../profile/read-profile.ts';
import { refuseCombinations } from './refuse-combinations.ts';
import { SETTINGS, type SettingKey, type Settings } from './settings.ts';
import { readWithProfile } from './with-profile.ts';

/** Everything that a run needs to know, checked. */
export interface Job {
  readonly settings: Settings;
  readonly endpoint: Endpoint;
  readonly credential: Credential;
  /** The profile of the API, if one is named. */
  readonly profile: Profile | undefined;
  /** Oddities of the settings that are not errors, in sentences. */
  readonly notices: readonly string[];
}

export interface JobOptions {
  /** Settings as given, by key. */
  readonly given: Readonly<Partial<Record<SettingKey, unknown>>>;
  /**
   * The credential, if a program gives it; else it comes from `apiKeyFile` or BRANDFILL_API_KEY.
   */
  readonly apiKey?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: SettingKey) => string;
}

/**
 * Reads and checks everything that can be checked before the input is opened.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function createJob({ given, apiKey, env, describe }: JobOptions): Job {
  const { settings, profile } = readWithProfile(SETTINGS, { given, env, describe });
  refuseCombinations(settings, { given, describe });
  if (settings.maxCost !== undefined && !profile?.api.billing) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot hold ${describe('maxCost')} without a profile that says what the API bills: give ${describe('api')} one with 'billing', or use ${describe('maxCalls')}.`,
    );
  }
  return { settings, ...createApi({ settings, profile, apiKey, env, describe }) };
}

/** The settings that say which API is called, and how. */
export type ApiSettings = Pick<Settings, 'baseUrl' | 'param' | 'header' | 'auth' | 'apiKeyFile'>;

/** The API, and the credential to call it. */
export type Api = Pick<Job, 'endpoint' | 'credential' | 'profile' | 'notices'>;

/** @throws BrandfillError `INVALID_SETTING` */
export function createApi({
  settings,
  profile,
  apiKey,
  env,
  describe,
}: Omit<JobOptions, 'given' | 'describe'> & {
  readonly settings: ApiSettings;
  readonly profile: Profile | undefined;
  readonly describe: (key: keyof ApiSettings) => string;
}): Api {
  if (settings.baseUrl === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot start without a base URL: give ${describe('baseUrl')}, or set BRANDFILL_BASE_URL.`,
    );
  }
  const { apiKeyEnv = 'BRANDFILL_API_KEY' } = profile?.content.request ?? {};
  keepCredentialName(apiKeyEnv);
  const secret = apiKey ?? readSecret(settings.apiKeyFile, env[apiKeyEnv]);
  if (profile && !secret && settings.auth.kind !== 'none') {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot call ${profile.content.title} without a credential: set ${apiKeyEnv}, or give ${describe('apiKeyFile')}.`,
    );
  }
  const strays = findStrays(settings);
  const others = [...strays.flatMap(({ secrets }) => secrets), ...proxyLogins(env)];
  for (const known of [secret, ...others]) keepSecret(known);
  const credential = createCredential(settings.auth, secret, others);
  return {
    credential,
    profile,
    endpoint: createEndpoint({
      baseUrl: settings.baseUrl,
      params: settings.param ?? [],
      secretParam: credential.queryParam,
      profile: profile?.api,
    }),
    notices: [
      ...(secret && settings.auth.kind === 'none'
        ? [`A credential is set, but ${describe('auth')} is none: calls are made without it.`]
        : []),
      ...(secret && isShort(secret)
        ? [
            'The credential has fewer than 6 characters: it is taken out of messages where it stands as a word, but not out of answers, because it may be a part of many words.',
          ]
        : []),
      ...strays.map(
        ({ name, setting, scheme }) =>
          `'${name}' in ${describe(setting)} looks like a credential: give it with ${describe('auth')} ${scheme}:${name} and BRANDFILL_API_KEY or ${describe('apiKeyFile')}, which keep it out of lists of processes and of the hash that tells APIs apart.`,
      ),
    ],
  };
}

/** A credential that is given as any parameter or header. */
interface Stray {
  readonly name: string;
  readonly setting: 'param' | 'header';
  readonly scheme: 'query' | 'header';
  readonly secrets: readonly string[];
}

function findStrays({ param = [], header = [] }: ApiSettings): readonly Stray[] {
  const straysIn = (
    pairs: readonly NameValue[],
    kind: Pick<Stray, 'setting' | 'scheme'>,
  ): readonly Stray[] =>
    pairs
      .filter(([name]) => isCredentialName(name))
      // `Bearer …` is a secret without its first word.
      .map(([name, value]) => ({
        name,
        setting: kind.setting,
        scheme: kind.scheme,
        secrets: [value, value.replace(/^.*\s/s, '')],
      }));
  return [
    ...straysIn(param, { setting: 'param', scheme: 'query' }),
    ...straysIn(header, { setting: 'header', scheme: 'header' }),
  ];
}

/** The credential, from a file or from the environment. @throws BrandfillError `INVALID_SETTING` */
export function readSecret(
  file: string | undefined,
  fromEnv: string | undefined,
): string | undefined {
  if (file === undefined) return fromEnv?.trim() || undefined;
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret !== '') return secret;
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read the credential from ${file}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot read the credential from ${file}: it is empty.`,
  );
}

/**
 * The ids of the API that settings name, in the store and on a queue. For settings that need not name
 * an API.
 *
 * @param describe gives the name of a setting in messages
 * @returns undefined when no API is named
 * @throws BrandfillError `INVALID_SETTING` when there are parameters without a base URL
 */
export function findEndpointIds(
  { baseUrl, param }: Pick<Settings, 'baseUrl' | 'param'>,
  describe: (key: string) => string,
  profile?: Profile,
): Pick<Endpoint, 'id' | 'queueId'> | undefined {
  if (baseUrl !== undefined) {
    return createEndpoint({ baseUrl, params: param ?? [], profile: profile?.api });
  }
  if (param === undefined) return undefined;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${describe('param')} alone: it tells which API is meant only along with ${describe('baseUrl')}.`,
  );
}

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

/**
 * Names an API for people: its base URL and the names of the parameters that go with every call.
 * The values are left out: one of them may be a credential.
 */
export function nameApi({ baseUrl = '', param = [] }: Pick<Settings, 'baseUrl' | 'param'>): string {
  const names = param.map(([name]) => `${name}=…`);
  return names.length > 0 ? `${baseUrl}?${names.join('&')}` : baseUrl;
}
