import { type Declarations, keysOf, type SettingsOf } from './declaration.ts';
import {
  CALLS_PER,
  COST,
  duration,
  FILE,
  FLAG,
  integer,
  LONGEST_TIMER_MS,
  OUTCOMES,
  PRICE,
  PROFILE,
  RATE,
  SHARE,
} from './kinds.ts';
import { AUTH, BASE_URL, HEADERS, PARAMS } from './network-kinds.ts';

/** The API, and how it is called. */
export const API_OPTIONS = {
  /**
   * The profile of the API: the name of one that is shipped, or the path of a YAML or JSON file.
   *
   * @default BRANDFILL_API, else the standard contract
   */
  api: {
    kind: PROFILE,
    env: 'BRANDFILL_API',
    description:
      'profile of the API, by its name (see brandfill api list) or as a YAML or JSON file: how the API is asked and what its answers mean (default: the standard, GET {base_url}/v1/brand?domain=…)',
  },
  /**
   * The API; calls go to `{baseUrl}/v1/brand?domain=…` unless a profile says otherwise.
   *
   * @default BRANDFILL_BASE_URL
   */
  baseUrl: {
    kind: BASE_URL,
    env: 'BRANDFILL_BASE_URL',
    description:
      'base URL of the API; calls go to {base_url}/v1/brand?domain=…, and a path in it is kept',
  },
  /** `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`. @default BRANDFILL_AUTH, `none` */
  auth: {
    kind: AUTH,
    env: 'BRANDFILL_AUTH',
    default: 'none',
    description:
      'how to authenticate: none, bearer, basic, header:NAME or query:NAME; the credential is read from BRANDFILL_API_KEY or --api-key-file',
  },
  /** A file that holds only the credential. */
  apiKeyFile: {
    kind: FILE,
    description: 'file that holds the credential and nothing else',
  },
  /** Extra query parameters for every call. */
  params: {
    name: 'param',
    kind: PARAMS,
    description: 'extra query parameter for every call',
  },
  /** Extra headers for every call. */
  headers: {
    name: 'header',
    kind: HEADERS,
    description: 'extra header for every call; not for credentials',
  },
} satisfies Declarations;

/** A second API, which is asked what the first does not know. Everything else is as at the first. */
export const THEN_OPTIONS = {
  /**
   * The profile of a second API, which is asked about domains that the first does not know.
   *
   * @default BRANDFILL_THEN, else none
   */
  // oxlint-disable-next-line no-thenable -- a text, which nobody awaits
  then: {
    kind: PROFILE,
    env: 'BRANDFILL_THEN',
    description:
      'profile of a second API, by its name or as a file, that is asked about domains which the first does not know; the column brand_api then says which API answered (default: none)',
  },
  /** Which outcomes of the first API are passed on: `not_found`, `rejected`. @default `not_found` */
  thenOn: {
    kind: OUTCOMES,
    default: 'not_found',
    description:
      'with --then: outcomes of the first API after which the second is asked: not_found, rejected, or both with a comma',
  },
  /** The address of the second API. @default that of its profile */
  thenBaseUrl: {
    kind: BASE_URL,
    description: 'base URL of the second API (default: that of its profile)',
  },
  /** A file that holds only the credential of the second API. */
  thenApiKeyFile: {
    kind: FILE,
    description:
      'file that holds the credential of the second API and nothing else (default: the variable that its profile names, else BRANDFILL_THEN_API_KEY)',
  },
  /** The same as `rate`, for the second API. @default `auto` */
  thenRate: {
    kind: RATE,
    description: 'rate of calls to the second API (default: auto)',
  },
  /** The same as `maxCalls`, for the second API. */
  thenMaxCalls: {
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    description: 'ask the second API no more after N calls (throttled ones do not count)',
  },
  /** The same as `maxCallsPer`, for the second API. */
  thenMaxCallsPer: {
    kind: CALLS_PER,
    description:
      'ask the second API no more after N calls in a calendar min, hour, day or month (UTC); the calls of all runs with its credential count together',
  },
  /** The same as `maxCost`, for the second API. */
  thenMaxCost: {
    kind: COST,
    description: 'ask the second API no more before it bills more than this, in its own units',
  },
  /** The same as `price`, for the second API. */
  thenPrice: {
    kind: PRICE,
    description: 'cost of a call to the second API, or of a unit that it bills',
  },
} satisfies Declarations;

/** How many calls are made, how fast, and when they stop. */
export const CALL_OPTIONS = {
  /** The most calls in flight at the same time. @default 32 */
  concurrency: {
    kind: integer(1, 10_000),
    default: '32',
    description: 'maximum number of calls in flight at the same time',
  },
  /** `'20/s'`, `'300/min'` or `'auto'`. @default `auto` */
  rate: {
    kind: RATE,
    default: 'auto',
    description:
      'rate of calls to keep to, shared by all workers on a queue; auto finds the fastest rate that the API allows',
  },
  /** How often a lookup is retried. @default 5 */
  retries: {
    kind: integer(0, 100),
    default: '5',
    description: 'how many times to retry a lookup after a server error or a broken connection',
  },
  /** The longest that one call may take. @default 60s */
  timeout: {
    kind: duration(1, LONGEST_TIMER_MS),
    default: '60s',
    description: 'time limit for a single call',
  },
  /** The longest wait that the API may ask for before the run stops. @default 15min */
  maxWait: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '15min',
    description: 'longest wait that the API may ask for; if it asks for more, the run stops',
  },
  /** How long to wait for the end of an API outage before the run stops. @default 1h */
  maxOutage: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '1h',
    description: 'how long to wait during an outage of the API before the run stops',
  },
  /** How long to ask again about a domain that the API has accepted and has no answer ready for (202). @default 10min */
  maxPending: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '10min',
    description:
      'how long to ask again about a domain that the API has accepted and has no answer ready for (202)',
  },
  /** Stop after this many calls. Rows left over are `skipped`. */
  maxCalls: {
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    description:
      'stop after N calls (throttled ones do not count); the remaining rows are skipped, and the next run takes them up',
  },
  /** Stop after this many calls of all runs with this credential, such as `'1000/day'`, in UTC. */
  maxCallsPer: {
    kind: CALLS_PER,
    description:
      'stop after N calls in a calendar min, hour, day or month (UTC), such as 1000/day; the calls of all runs with this credential count together, throttled ones do not',
  },
  /** Stop before the API bills more than this, in the units of its profile; needs `api`. */
  maxCost: {
    kind: COST,
    description:
      'stop before the API bills more than this, in the units of its profile, such as credits; the remaining rows are skipped, and the next run takes them up',
  },
  /** Stop when more than this share of at least 200 lookups fails. @default 20% */
  maxFailed: {
    kind: SHARE,
    default: '20%',
    description:
      'stop when more than this share of lookups fails, out of at least 200; those that failed in the previous run do not count',
  },
  /** The price of a call, or of a unit that the profile bills in, for plan and summary: `0.01`. */
  price: {
    kind: PRICE,
    description:
      'cost of a call, such as 0.01, or of a unit where the profile of the API says what it bills; the plan and the summary then show the total',
  },
  /** How many domains to look up first, spread over the list, before `confirm` is asked. */
  sample: {
    kind: integer(1, 1_000),
    description:
      'look up N domains first, spread over the list; show what came of them and what the rest would cost, and ask for confirmation on a terminal',
  },
  /** The number of calls above which `confirm` is asked. @default 0; 10000 with a job file */
  confirmAbove: {
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: '0',
    defaultInJobFile: '10000',
    description:
      'on a terminal, ask for confirmation before a run that makes more than N calls; the default in a job file is 10000',
  },
  /** Whether to skip `confirm`. @default false */
  yes: {
    kind: FLAG,
    description: 'do not ask for confirmation',
  },
} satisfies Declarations;

/** The options of a second API, by those of the first that they stand for. */
const OF_SECOND = {
  api: 'then',
  baseUrl: 'thenBaseUrl',
  apiKeyFile: 'thenApiKeyFile',
  rate: 'thenRate',
  maxCalls: 'thenMaxCalls',
  maxCallsPer: 'thenMaxCallsPer',
  maxCost: 'thenMaxCost',
  price: 'thenPrice',
} as const satisfies Partial<
  Record<keyof typeof API_OPTIONS | keyof typeof CALL_OPTIONS, keyof typeof THEN_OPTIONS>
>;

/** Options of a second API, which say nothing without one. */
export const OPTIONS_OF_SECOND: readonly (keyof typeof THEN_OPTIONS)[] = keysOf(
  THEN_OPTIONS,
).filter((key) => key !== 'then');

/**
 * Options as given, as those of a run that asks the second API: what is only of the first is left
 * out, and the rest is the same.
 *
 * @param fallback the second API, if it is not given
 */
export function optionsOfSecond(
  given: Readonly<Record<string, unknown>>,
  fallback: string | undefined,
): Record<string, unknown> {
  const ofFirst = new Set<string>([...keysOf(API_OPTIONS), ...Object.keys(OF_SECOND), 'sample']);
  const ofBoth = Object.entries(given).filter(
    ([key]) => !ofFirst.has(key) && !Object.hasOwn(THEN_OPTIONS, key),
  );
  const own = Object.entries(OF_SECOND).map(([key, second]) => [key, given[second]] as const);
  const { api = fallback, ...second } = Object.fromEntries(own);
  return { ...Object.fromEntries(ofBoth), ...second, api };
}

/** The option of the second API that stands for one of the first, for messages. */
export function nameOfSecond(key: string): string {
  return Object.hasOwn(OF_SECOND, key) ? OF_SECOND[key as keyof typeof OF_SECOND] : key;
}

/** Settings of the API and of how it is called. */
export type ApiSettings = SettingsOf<typeof API_OPTIONS>;
