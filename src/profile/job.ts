import { scryptSync } from 'node:crypto';
import { createCredential, isCredentialName } from '../brand/credential.ts';
import { createEndpoint } from '../brand/endpoint.ts';
import { proxyLogins } from '../brand/proxy.ts';
import type { OutcomeStatus } from '../calls/outcome.ts';
import { isStandard, STANDARD_NAME } from '../collector/fields/standard.ts';
import { isLocalAddress } from '../common/addresses.ts';
import { describeSystemError, refusal, systemErrorCode } from '../common/errors.ts';
import { othersWhoCanChange, readSmallFile } from '../common/files.ts';
import { idOfParts } from '../common/hashes.ts';
import { isShort, keepCredentialName, keepSecret } from '../common/secrets.ts';
import { isProfileFile, plainText } from '../options/kinds.ts';
import {
  type Options,
  pick,
  readOptions,
  refusing,
  type SettingsOf,
  type Sources,
} from '../options/option.ts';
import {
  API_OPTIONS,
  type ApiSettings,
  OPTIONS,
  type OptionKey,
  type Settings,
  SOURCE,
} from '../options/options.ts';
import { createNamer } from '../rows/columns/names.ts';
import { type Profile, readProfile } from './read-profile.ts';

/** Everything that a run needs to know, checked. */
export interface Job extends Api {
  readonly settings: Settings;
  /** After which outcomes the next API is asked about a domain. */
  readonly next: ReadonlySet<OutcomeStatus>;
  /** The APIs that are asked after this one, in their order; mostly none. */
  readonly further: readonly Job[];
  /** The most calls of all of them together. @default as each says */
  readonly mostCalls?: number | undefined;
}

/** All APIs that a job asks, in their order. */
export function apisOf(job: Job): readonly [Job, ...Job[]] {
  return [job, ...job.further];
}

/** The API, and the credential to call it. */
export type Api = ReturnType<typeof createApi>;

const KEY_OPTIONS = { apiKey: plainText(), apiKeyEnv: plainText() };

/** The options that a job is made of. */
const JOB_OPTIONS = { ...OPTIONS, ...KEY_OPTIONS };

/** Those that are said of one of several APIs besides. */
const SOURCE_OPTIONS = { ...KEY_OPTIONS, next: SOURCE.next };

/**
 * Reads and checks everything that can be checked before the input is opened. What a command has no
 * option for is as `enrich` has it by default.
 *
 * @param of the name of the command
 * @param declared its options
 * @throws BrandfillError `INVALID_SETTING`
 */
export function createJob(
  sources: Sources,
  of: string = 'enrich',
  declared: Options = JOB_OPTIONS,
): Job {
  return toJob(readWithProfile(of, declared, sources), sources.env);
}

/** Makes a job of options that are read. @throws BrandfillError `INVALID_SETTING` */
export function toJob(
  { profile, settings: own, further = [], mostCalls }: ProfiledSettings<Options>,
  env?: Sources['env'],
): Job {
  const standard = readOptions('enrich', OPTIONS, { given: {}, env: {} });
  const settings: Settings & OfSource = { ...standard, ...own };
  const { next = new Set() } = settings;
  const wrong = contradictionsIn(settings, profile).find((one) => one !== false);
  if (wrong !== undefined) throw refusal(wrong);
  const job = { ...createApi(settings, profile, env), settings, next, mostCalls, further: [] };
  const others = further.map((one, at) => inSource(at + 1, () => toJob(one, env)));
  return { ...job, further: distinct([job, ...others]).slice(1) };
}

/** Makes sure that several APIs can be told apart, and that none gets the credential of another. */
function distinct(jobs: readonly Job[]): readonly Job[] {
  const nameOf = createNamer();
  return jobs.map((job, at) => {
    const before = jobs.slice(0, at);
    const same = before.find(({ endpoint }) => endpoint.id === job.endpoint.id);
    if (same) {
      throw refusal(
        `Cannot ask ${same.name} twice: both sources have the same address and parameters.`,
      );
    }
    const { origin } = job.endpoint;
    const other = before.find(
      ({ keyName, endpoint }) => keyName === COMMON_KEY && endpoint.origin !== origin,
    );
    if (other && job.keyName === COMMON_KEY) {
      throw refusal(
        `Cannot send one credential to both ${other.endpoint.origin} and ${origin}: name the variable of each in its 'apiKeyEnv', or set one such as ${keyVariable(job.name)}.`,
      );
    }
    return { ...job, name: nameOf(job.name) };
  });
}

/** Holds the credential where nothing else is said. */
const COMMON_KEY = 'BRANDFILL_API_KEY';

/** The variable of the credential of one API: `BRANDFILL_API_KEY_CONTEXT_DEV`. */
function keyVariable(name: string): string {
  return `${COMMON_KEY}_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`;
}

/** Options that do nothing without another. */
const NEEDED: readonly (readonly [OptionKey, OptionKey])[] = [
  ['key', 'changes'],
  ['logos', 'logoField'],
  ['logoField', 'logos'],
  ['logosSvg', 'logos'],
];

/** What is said of values that make no sense together, though each does alone. */
const contradictionsIn = (
  settings: Settings,
  profile: Profile | undefined,
): readonly (string | false)[] => [
  ...NEEDED.map(
    ([one, other]) =>
      Boolean(settings[one]) &&
      !settings[other] &&
      `Cannot use option '${one}' without option '${other}': give both.`,
  ),
  settings.sample !== undefined &&
    settings.changes !== undefined &&
    `Cannot use option 'changes' with option 'sample': a sample says nothing of the other rows; leave one out.`,
  settings.workers === 0 &&
    settings.queue === undefined &&
    `Cannot leave all lookups to other workers without a queue: give option 'queue', or set BRANDFILL_QUEUE.`,
  settings.workers === 0 &&
    settings.maxCallsPer !== undefined &&
    profile?.content.limits?.quota === undefined &&
    `Cannot hold option 'maxCallsPer' where no calls are made: give it to the workers (option 'maxCallsPer' of brandfill worker), or leave out option 'workers' 0.`,
  settings.maxCost !== undefined &&
    !profile?.api.billing &&
    `Cannot hold option 'maxCost' without a profile that says what the API bills: give option 'api' one with 'billing', or use option 'maxCalls'.`,
];

/**
 * What is said of an API beside its settings: the credential itself, or the variable that holds it.
 */
type OfSource = Partial<SettingsOf<typeof SOURCE_OPTIONS>>;

/** @throws BrandfillError `INVALID_SETTING` */
export function createApi(
  settings: ApiSettings & OfSource,
  profile: Profile | undefined,
  env: Sources['env'] = process.env,
) {
  const { api = '', baseUrl, params = [], headers = [], auth, apiKeyFile } = settings;
  if (baseUrl === undefined) {
    throw refusal(
      `Cannot start without a base URL: give option 'baseUrl', or set BRANDFILL_BASE_URL. With option 'api' there is that of an API (brandfill api list), brandfill sandbox is one to rehearse with, and brandfill app asks for it on a page.`,
    );
  }
  const { apiKeyEnv: ofProfile = COMMON_KEY } = profile?.content.request ?? {};
  const { name = new URL(baseUrl).host } = profile ?? {};
  const byName = keyVariable(name);
  const apiKeyEnv = settings.apiKeyEnv ?? (env[byName]?.trim() ? byName : ofProfile);
  keepCredentialName(apiKeyEnv);
  const fromEnv = env[apiKeyEnv]?.trim() || undefined;
  const { apiKey } = settings;
  const key = apiKey ?? (apiKeyFile === undefined ? fromEnv : readSecret(apiKeyFile));
  // Neither a name nor a path is repeated: it may be the credential in the wrong place.
  if (key === undefined && settings.apiKeyEnv !== undefined) {
    throw refusal(
      `Cannot use option 'apiKeyEnv': the environment has no such variable, or it is empty.`,
    );
  }
  if (profile && !key && auth.kind !== 'none') {
    // A name that is not written as those of variables are may be the credential in the wrong
    // place.
    const isName = /^[A-Z_][A-Z0-9_]*$/.test(apiKeyEnv);
    throw refusal(
      `Cannot call ${profile.title} without a credential: set ${isName ? apiKeyEnv : "the variable that its 'apiKeyEnv' names"}, or give option 'apiKeyFile'.`,
    );
  }
  const strays = [...params, ...headers].filter(([name]) => isCredentialName(name));
  // `Bearer …` is a secret without its first word.
  const ofStrays = strays.flatMap(([, value]) => [value, value.replace(/^.*\s/s, '')]);
  const others = [...ofStrays, ...proxyLogins(env)];
  for (const known of [key, ...others]) keepSecret(known);
  const credential = createCredential(auth, key, others);
  const secretParam = credential.queryParam;
  const endpoint = createEndpoint({ baseUrl, params, secretParam, profile: profile?.api });
  const { origin } = endpoint;
  const { protocol, hostname } = new URL(origin);
  const isOpen = protocol === 'http:' && !isLocalAddress(hostname.replaceAll(/[[\]]/g, ''));
  const writers = profile && isProfileFile(api) && othersWhoCanChange(profile.file);
  const names = strays.map(([name]) => `'${name}'`).join(', ');
  const notices: readonly (string | false | undefined)[] = [
    key !== undefined &&
      auth.kind !== 'none' &&
      isOpen &&
      `The credential goes to ${origin} without encryption, so that whoever is on the way can read it: ask for an address that begins with https://.`,
    writers &&
      `A profile names a credential and where it is sent, as ${profile.file} does, and ${writers}: read it before you use it, and keep it to yourself (chmod go-w).`,
    key !== undefined &&
      auth.kind === 'none' &&
      `A credential is set, but option 'auth' is none: calls are made without it.`,
    key !== undefined &&
      isShort(key) &&
      'The credential has fewer than 6 characters: it is taken out of messages where it stands as a word, but not out of answers, because it may be a part of many words.',
    strays.length > 0 &&
      `Of the parameters and headers, ${names} looks like a credential: say in option 'auth' how it is sent, and give it in BRANDFILL_API_KEY or option 'apiKeyFile', which keep it out of lists of processes and of the hash that tells APIs apart.`,
  ];
  return {
    /** What it is called beside others: its profile, else its host. */
    name,
    endpoint,
    credential,
    /** The profile of the API, if one is named. */
    profile,
    /**
     * The variable of the environment that its credential is from; undefined where none is sent
     * from there.
     */
    keyName: auth.kind === 'none' || key !== fromEnv ? undefined : apiKeyEnv,
    /** Oddities of the settings that are not errors, in sentences. */
    notices: notices.filter((one) => typeof one === 'string'),
  };
}

/** No credential is longer, in bytes. */
const LONGEST_SECRET = 64 * 1024;

/** @throws BrandfillError `INVALID_SETTING` */
function readSecret(file: string): string {
  let why = 'it is empty';
  // What is no file may be the credential itself, unless it ends, or begins, as nothing but a path
  // does. What a job file says has its folder in front already.
  let isPath = file.startsWith('./') || /\.(?:txt|key|secret|token)$/.test(file);
  try {
    const secret = readSmallFile(file, LONGEST_SECRET)?.trim();
    isPath = true; // it is there
    if (secret === undefined) why = 'it is too long for a credential';
    else if (secret !== '') return secret;
  } catch (error) {
    why = describeSystemError(error);
    isPath ||= systemErrorCode(error) !== 'ENOENT';
  }
  throw refusal(`Cannot use option 'apiKeyFile'${isPath ? ` (${file})` : ''}: ${why}.`);
}

/**
 * Identifies one credential at one API with one rate, whose pace a store remembers. The credential
 * goes through a slow hash: names of keys in Redis are seen by many, and a weak password must not
 * be found by guessing. A random salt in Redis would be seen along with them.
 */
export function paceIdOf({
  endpoint,
  credential,
  settings,
}: Pick<Api, 'endpoint' | 'credential'> & { readonly settings: Pick<Settings, 'rate'> }): string {
  return idOfParts([endpoint.id, markOf(endpoint, credential), settings.rate]);
}

/**
 * The same for workers and runs that share a pace and whose calls are counted together, whatever
 * their rates.
 */
export function callsIdOf({ endpoint, credential }: Pick<Api, 'endpoint' | 'credential'>): string {
  return idOfParts([endpoint.id, markOf(endpoint, credential)]);
}

/** Credentials of this process by what they are sent as, because each takes its time. */
const MARKS = new Map<string, string>();
/** 16 MiB and some 40 ms for each guess. */
const COST = { N: 16_384, r: 8, p: 1 };

function markOf(endpoint: Api['endpoint'], { headers, queryParam }: Api['credential']): string {
  if (headers.length === 0 && queryParam === undefined) return '';
  const sent = JSON.stringify([endpoint.id, headers, queryParam]);
  const known = MARKS.get(sent);
  if (known !== undefined) return known;
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
export interface ProfiledSettings<D extends Options> {
  readonly settings: SettingsOf<D>;
  readonly profile: Profile | undefined;
  /** The same for the APIs that are asked after this one. @default none is */
  readonly further?: readonly ProfiledSettings<D>[];
  /** The most calls of all of them together. */
  readonly mostCalls?: number | undefined;
}

/**
 * Reads options like `readOptions`. What is given counts more than the profile of the API, and the
 * profile more than the environment: a base URL that is set for another API must not get the
 * credential of this one.
 *
 * @throws BrandfillError `INVALID_SETTING`, with the place of whatever is wrong in a profile
 */
export function readWithProfile<D extends Options>(
  of: string,
  declared: D,
  sources: Sources,
): ProfiledSettings<D> {
  const several = splitSources(declared, sources);
  if (!several) return readOne(of, declared, sources);
  const isSeveral = several.length > 1;
  const [first, ...further] = several.map((one, at) =>
    inSource(at, () => readOne(of, { ...declared, ...SOURCE_OPTIONS }, one, isSeveral)),
  ) as [ProfiledSettings<D>, ...ProfiledSettings<D>[]];
  if (!isSeveral) return first;
  const given = pick(Object(sources.given), 'maxCalls');
  const { maxCalls } = readOptions(of, pick(OPTIONS, 'maxCalls'), { given, env: {} });
  return { ...first, further, mostCalls: maxCalls };
}

/** @param isOneOfSeveral whether others fill the same columns */
function readOne<D extends Options>(
  of: string,
  declared: D,
  sources: Sources,
  isOneOfSeveral = false,
): ProfiledSettings<D> {
  const profile = findProfile(declared, sources);
  const { request, columns, fresh, limits } = profile?.content ?? {};
  const { baseUrl, auth } = request ?? {};
  const ofProfile = {
    baseUrl,
    auth,
    fields: columns ?? (isOneOfSeveral ? STANDARD_NAME : undefined),
    fresh: fresh?.found,
    freshNotFound: fresh?.notFound,
    maxCallsPer: limits?.quota,
  };
  const own = Object(sources.given) as Readonly<Record<string, unknown>>;
  const standard = own['fields'] === STANDARD_NAME ? standardOf(columns) : undefined;
  const given = standard ? { ...own, fields: standard } : sources.given;
  return { settings: readOptions(of, declared, { ...sources, given, ofProfile }), profile };
}

/** The standard ones of the columns of a profile; undefined where it has none. */
function standardOf(
  columns: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> | undefined {
  const standard = Object.entries(columns).filter(([name]) => isStandard(name));
  return standard.length === 0 ? undefined : Object.fromEntries(standard);
}

function findProfile(
  declared: Options,
  { given, env = process.env }: Sources,
): Profile | undefined {
  const { api: own } = Object(given) as { readonly api?: unknown };
  const api = own ?? env['BRANDFILL_API'];
  if (!declared['baseUrl'] || typeof api !== 'string' || api === '') return undefined;
  const label = own === undefined ? 'BRANDFILL_API' : "option 'api'";
  return refusing(`Cannot use ${label}:`, () => readProfile(api));
}

// Several APIs that are asked in turn: `--api first,second`, or `sources` of a job file and of the
// library. Each is read as if it were the only one, from what is said of it alone and from all that
// is said of the run.

/**
 * What says who is asked, and with which credential, is never said of several at once; nor is what
 * units cost.
 */
const OF_ONE = [...Object.keys(API_OPTIONS), 'apiKey', 'apiKeyEnv', 'maxCost'];

/** Variables that are about the API of whoever names none. */
const QUIET = {
  BRANDFILL_API: undefined,
  BRANDFILL_BASE_URL: undefined,
  BRANDFILL_AUTH: undefined,
};

/**
 * The options of each API in turn; undefined where options name one in the plain way.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
function splitSources(
  declared: Options,
  { given, env = process.env }: Sources,
): readonly Sources[] | undefined {
  const { sources: listed, ...all } = Object(given) as Readonly<Record<string, unknown>>;
  const { api = env['BRANDFILL_API'] } = all;
  const names = typeof api === 'string' && api.includes(',') ? api.split(',') : undefined;
  // Other commands are about one API.
  if (!declared['fields'] || (listed === undefined && !names)) return undefined;
  const each = listed ?? names?.map((name) => ({ api: name.trim() }));
  if (!Array.isArray(each) || each.length === 0) {
    throw refusal(
      "Cannot use option 'sources': expected a list of APIs, each with 'api' or 'baseUrl'.",
    );
  }
  const isSaid = (key: string): boolean => all[key] !== undefined;
  const stray = OF_ONE.find((key) => isSaid(key) && !(listed === undefined && key === 'api'));
  if (stray !== undefined) {
    throw refusal(
      `Cannot use option '${stray}' for several APIs at once: say it of each, in option 'sources' of a job file.`,
    );
  }
  const { api: _, maxCalls, ...common } = all;
  const bound = each.length === 1 ? { maxCalls } : {};
  return each.map((one) => ({
    given: { ...common, ...bound, ...Object(one) },
    env: { ...env, ...QUIET },
  }));
}

/** Says which of several APIs it is about that something is wrong. */
function inSource<T>(at: number, read: () => T): T {
  return refusing(`Source ${at + 1}:`, read);
}
