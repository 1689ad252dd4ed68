import { scryptSync } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { z } from 'zod';
import { type Credential, createCredential, isCredentialName } from '../brand/credential.ts';
import { createEndpoint, DOMAIN, type Endpoint, type NameValue } from '../brand/endpoint.ts';
import { proxyLogins } from '../brand/proxy.ts';
import { isLocalAddress } from '../common/addresses.ts';
import { BrandfillError, describeSystemError, endSentence } from '../common/errors.ts';
import { othersWhoCanChange } from '../common/files.ts';
import { idOfParts } from '../common/hashes.ts';
import { isShort, keepCredentialName, keepSecret } from '../common/secrets.ts';
import { type Profile, readProfile } from '../profile/read-profile.ts';
import { type Options, readValue, type SettingsOf } from './option.ts';
import { type ApiSettings, OPTIONS, type Settings } from './options.ts';
import {
  checkOptions,
  type KnownOptions,
  readSettings,
  refuseCombinations,
  type SettingSources,
} from './read-options.ts';
import { isProfileFile } from './types.ts';

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

export interface JobOptions extends SettingSources {
  /**
   * The credential, if a program gives it; else it comes from `apiKeyFile` or BRANDFILL_API_KEY.
   */
  readonly apiKey?: string | undefined;
  /** Options that are declared in another way than those of `enrich`. */
  readonly others?: Options;
}

/**
 * Reads and checks everything that can be checked before the input is opened.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function createJob({
  given,
  apiKey,
  keyVariable,
  env,
  describe,
  others = {},
}: JobOptions & Pick<ApiOptions, 'keyVariable'>): Job {
  const declared: typeof OPTIONS = { ...OPTIONS, ...others };
  const { settings, profile } = readSettingsWithProfile(declared, { given, env, describe });
  refuseCombinations(settings, { given, describe });
  if (settings.maxCost !== undefined && !profile?.api.billing) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot hold ${describe('maxCost')} without a profile that says what the API bills: give ${describe('api')} one with 'billing', or use ${describe('maxCalls')}.`,
    );
  }
  return { settings, ...createApi({ settings, profile, apiKey, keyVariable, env, describe }) };
}

/** The API, and the credential to call it. */
export type Api = Pick<Job, 'endpoint' | 'credential' | 'profile' | 'notices'>;

interface ApiOptions extends Pick<JobOptions, 'apiKey' | 'env' | 'describe'> {
  readonly settings: ApiSettings;
  readonly profile: Profile | undefined;
  /** The variable that holds the credential if the profile names none. @default BRANDFILL_API_KEY */
  readonly keyVariable?: string | undefined;
}

/** @throws BrandfillError `INVALID_SETTING` */
export function createApi({
  settings,
  profile,
  apiKey,
  keyVariable = 'BRANDFILL_API_KEY',
  env,
  describe,
}: ApiOptions): Api {
  if (settings.baseUrl === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot start without a base URL: give ${describe('baseUrl')}, or set BRANDFILL_BASE_URL.`,
    );
  }
  const { apiKeyEnv = keyVariable } = profile?.content.request ?? {};
  keepCredentialName(apiKeyEnv);
  const secret = apiKey ?? readSecret(settings.apiKeyFile, env[apiKeyEnv]);
  if (profile && !secret && settings.auth.kind !== 'none') {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot call ${profile.title} without a credential: set ${describeVariable(apiKeyEnv)}, or give ${describe('apiKeyFile')}.`,
    );
  }
  const strays = findStrays(settings);
  const others = profile && isProfileFile(settings.api ?? '') && othersWhoCanChange(profile.file);
  const secrets = [...strays.flatMap(({ secrets }) => secrets), ...proxyLogins(env)];
  for (const known of [secret, ...secrets]) keepSecret(known);
  const credential = createCredential(settings.auth, secret, secrets);
  const endpoint = createEndpoint({
    baseUrl: settings.baseUrl,
    params: settings.params ?? [],
    secretParam: credential.queryParam,
    profile: profile?.api,
  });
  const { protocol, hostname } = new URL(endpoint.origin);
  const isOpen = protocol === 'http:' && !isLocalAddress(hostname.replaceAll(/[[\]]/g, ''));
  return {
    credential,
    profile,
    endpoint,
    notices: [
      ...(secret && settings.auth.kind !== 'none' && isOpen
        ? [
            `The credential goes to ${endpoint.origin} without encryption, so that whoever is on the way can read it: ask for an address that begins with https://.`,
          ]
        : []),
      ...(others
        ? [
            `A profile names a credential and where it is sent, as ${profile.file} does, and ${others}: read it before you use it, and keep it to yourself (chmod go-w).`,
          ]
        : []),
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

/** A name that is not written as those of variables are may be the credential in the wrong place. */
function describeVariable(name: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : "the variable that its 'apiKeyEnv' names";
}

/** A credential that is given as any parameter or header. */
interface Stray {
  readonly name: string;
  readonly setting: 'params' | 'headers';
  readonly scheme: 'query' | 'header';
  readonly secrets: readonly string[];
}

function findStrays({ params = [], headers = [] }: ApiSettings): readonly Stray[] {
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
    ...straysIn(params, { setting: 'params', scheme: 'query' }),
    ...straysIn(headers, { setting: 'headers', scheme: 'header' }),
  ];
}

/** The credential, from a file or from the environment. @throws BrandfillError `INVALID_SETTING` */
export function readSecret(
  file: string | undefined,
  fromEnv: string | undefined,
): string | undefined {
  if (file === undefined) return fromEnv?.trim() || undefined;
  try {
    const secret = readStart(file).trim();
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

/** No credential is longer, in bytes. */
const LONGEST_SECRET = 64 * 1024;

/** @throws Error when a file, such as a device, has more than a credential */
function readStart(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(LONGEST_SECRET + 1);
    let end = 0;
    for (let read = -1; read !== 0 && end < bytes.length; end += read)
      read = readSync(handle, bytes, end, bytes.length - end, null);
    if (end > LONGEST_SECRET) throw new Error('it is too long for a credential');
    return bytes.toString('utf8', 0, end);
  } finally {
    closeSync(handle);
  }
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
  { baseUrl, params }: Pick<Settings, 'baseUrl' | 'params'>,
  describe: (key: string) => string,
  profile?: Profile,
): Pick<Endpoint, 'id' | 'queueName'> | undefined {
  if (baseUrl !== undefined) {
    return createEndpoint({ baseUrl, params: params ?? [], profile: profile?.api });
  }
  if (params === undefined) return undefined;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${describe('params')} alone: it tells which API is meant only along with ${describe('baseUrl')}.`,
  );
}

/**
 * Identifies one credential at one API with one rate, whose pace a store remembers. The credential goes
 * through a slow hash: names of keys in Redis are seen by many, and a weak password must not be found by
 * guessing. A random salt in Redis would be seen along with them.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  return idOfParts([endpoint.id, markOf(endpoint, credential), settings.rate]);
}

/** The same for workers and runs that share a pace and whose calls are counted together, whatever their rates. */
export function callsIdOf({ endpoint, credential }: Pick<Api, 'endpoint' | 'credential'>): string {
  return idOfParts([endpoint.id, markOf(endpoint, credential)]);
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
export function nameApi({
  baseUrl = '',
  params = [],
}: Pick<Settings, 'baseUrl' | 'params'>): string {
  const names = params.map(([name]) => `${name}=…`);
  return names.length > 0 ? `${baseUrl}?${names.join('&')}` : baseUrl;
}

/** Settings, and the profile of the API that they name. */
export interface ProfiledSettings<T> {
  readonly settings: T;
  readonly profile: Profile | undefined;
}

/** Options of which one may name a profile. */
type Profiled = Options & Pick<typeof OPTIONS, 'api'>;

/**
 * Checks and reads options like `readOptions`. What is given counts more than the profile of the
 * API, and the profile more than the environment: a base URL that is set for another API must not
 * get the credential of this one.
 *
 * @throws BrandfillError `INVALID_SETTING`, with the place of whatever is wrong in a profile
 */
export function readWithProfile<D extends Profiled>(
  options: object,
  known: KnownOptions<D>,
): ProfiledSettings<SettingsOf<D>> {
  checkOptions(options, known);
  const { declared, describe } = known;
  return readSettingsWithProfile(declared, { given: { ...options }, env: process.env, describe });
}

/** The same for options that were checked. */
export function readSettingsWithProfile<D extends Profiled>(
  declared: D,
  sources: SettingSources,
): ProfiledSettings<SettingsOf<D>> {
  const profile = findProfile(declared, sources);
  if (!profile) return { settings: readSettings(declared, sources), profile };
  const given: Record<string, unknown> = { ...sources.given };
  for (const [key, value] of Object.entries(settingsOf(profile))) {
    if (Object.hasOwn(declared, key)) given[key] ??= value;
  }
  for (const [key, own] of Object.entries(pairsOf(profile))) {
    const declaration = declared[key];
    if (declaration) given[key] = joined(own, given[key], declaration);
  }
  return { settings: readSettings(declared, { ...sources, given }), profile };
}

function findProfile({ api }: Profiled, sources: SettingSources): Profile | undefined {
  const { api: named } = readSettings({ api }, sources);
  if (named === undefined) return undefined;
  try {
    return readProfile(named);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const label = sources.given['api'] === undefined ? 'BRANDFILL_API' : sources.describe('api');
    const message = `Cannot use ${label}: ${error.message}`;
    throw new BrandfillError('INVALID_SETTING', endSentence(message), { cause: error });
  }
}

/** What a profile says about settings, as a user would give it. */
function settingsOf({ content }: Profile): Readonly<Record<string, unknown>> {
  const { request, columns, fresh = {} } = content;
  const { baseUrl, auth } = request;
  return {
    baseUrl,
    auth,
    fields: columns,
    fresh: fresh.found,
    freshNotFound: fresh.notFound,
  };
}

/** What goes with every call. Parameters with the domain are no settings: each call sets them. */
function pairsOf({
  content,
}: Profile): Readonly<Record<'params' | 'headers', readonly NameValue[]>> {
  const { params = {}, headers = {} } = content.request;
  return {
    params: Object.entries(params).filter(([, value]) => !value.includes(DOMAIN)),
    headers: Object.entries(headers),
  };
}

/** The profile's own pairs with those that are given, which replace their namesakes. */
function joined(own: readonly NameValue[], given: unknown, type: z.ZodType): unknown {
  if (given === undefined || own.length === 0)
    return given ?? (own.length > 0 ? texts(own) : undefined);
  let pairs: readonly NameValue[];
  try {
    pairs = readValue(type, given) as readonly NameValue[];
  } catch {
    return given; // what is wrong with it is said when it is read
  }
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  return texts([...own.filter(([name]) => !names.has(name.toLowerCase())), ...pairs]);
}

function texts(pairs: readonly NameValue[]): readonly string[] {
  return pairs.map(([name, value]) => `${name}=${value}`);
}
