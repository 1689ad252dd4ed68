import { describeKind } from '../common/text.ts';
import type { SandboxAuth } from './auth.ts';
import {
  LIMIT_HEADERS,
  LIMIT_KINDS,
  type LimitHeaders,
  type LimitKind,
  type LimitRate,
} from './limiter.ts';
import { findRuleProblems, type SandboxRule } from './script-rule.ts';

/**
 * The behaviour of the sandbox. Without options it answers every domain at once, without limits or
 * faults.
 */
export interface SandboxOptions {
  /**
   * Address to listen on.
   * @default '127.0.0.1'
   */
  host?: string | undefined;
  /**
   * Port to listen on; 0 takes any free one.
   * @default 0
   */
  port?: number | undefined;
  /**
   * How long a call takes, in milliseconds. A number is the same for every call. A range is log-normal:
   * `fromMs` is the 1st and `toMs` the 99th percentile, and nothing falls outside of them, so the median
   * is their geometric mean (20 ms to 7 s has a median of 374 ms). Refusals (400, 401, 402, 422, and those of the limit)
   * always come at once.
   * @default 0
   */
  latencyMs?: number | { fromMs: number; toMs: number } | undefined;
  /**
   * The rate limit: `count` calls per `perMs` milliseconds. For the kind `concurrent`, `count` is the number
   * of calls that may be open at once and `perMs` is not used.
   * @default no limit
   */
  limit?: LimitRate | undefined;
  /** @default 'token-bucket' */
  limitKind?: LimitKind | undefined;
  /**
   * Calls that a full token bucket lets through at once.
   * @default what one second refills, at least 1
   */
  burst?: number | undefined;
  /** @default 'retry-after' */
  limitHeaders?: LimitHeaders | undefined;
  /**
   * The status of a call beyond the limit. Gateways may use 503, as nginx does unless told
   * otherwise.
   * @default 429
   */
  limitStatus?: 429 | 503 | undefined;
  /**
   * Share of the calls, 0 to 1, that are answered 500, 502 or 503. Decided by seed, domain and the ordinal of
   * the call for that domain, so a second try can succeed.
   * @default 0
   */
  errors?: number | undefined;
  /**
   * Share of the domains, 0 to 1, that the sandbox has never heard of (404).
   * @default 0
   */
  notFound?: number | undefined;
  /**
   * Share of the calls, 0 to 1, whose answer is unusable: cut JSON, a web page, an empty body, a connection
   * that breaks off within the body or is reset before it. Decided as `errors` are.
   * @default 0
   */
  broken?: number | undefined;
  /**
   * The credential that a call must bring; otherwise 401.
   * @default none
   */
  auth?: SandboxAuth | undefined;
  /**
   * Calls that may be charged (answered 200 or 404); later ones are answered 402.
   * @default no quota
   */
  quota?: number | undefined;
  /**
   * Decides which domains are missing, what is in their answers, and which calls fail.
   * @default 1
   */
  seed?: number | undefined;
  /**
   * Serve pictures at `/logos/…`, and make answers point to them. One in twenty is missing, and one
   * in twenty is no picture that is fit to be saved.
   * @default false: answers point to a host that does not exist
   */
  logos?: boolean | undefined;
  /**
   * Compress answers for clients that accept gzip.
   * @default false
   */
  gzip?: boolean | undefined;
  /**
   * Keep counts per domain (about 140 bytes each). Without them there are no duplicates in the stats, and
   * the ordinal of a call is its number among all calls.
   * @default true
   */
  countPerDomain?: boolean | undefined;
  /**
   * Answers to some of the calls that passed the credential, the limit, the checks and the quota;
   * the other options decide the rest. The first rule that fits counts.
   * @default none
   */
  script?: readonly SandboxRule[] | undefined;
  /**
   * Scripts the answer to a call that passed the credential, the limit, the checks and the quota.
   * Comes before `script`;
   * `undefined` leaves it to the other options. `call` counts from 1 for each domain, without calls
   * refused before. If it throws, or returns what HTTP cannot carry, the call is answered 500 with
   * the reason.
   */
  respond?: ((domain: string, call: number) => SandboxReply | undefined) | undefined;
  /**
   * Plays another API than the standard contract: where it is asked, how it answers, and how it
   * refuses. What `script`, `errors`, `broken`, `limit`, `auth` and `quota` ask for comes first.
   * @default the standard contract
   */
  api?: PlayedApi | undefined;
}

/** The batches of an API that the sandbox plays. */
export interface PlayedBatch {
  readonly method: 'GET' | 'POST';
  /** Whether a request is about a batch, from its path and query. */
  isAskedAt(target: string): boolean;
  /** The domains that it asks about; undefined when it cannot be read. */
  domainsOf(target: string, body: string): readonly string[] | undefined;
  /** One reply, of what each domain would be answered alone. */
  replyOf(answers: ReadonlyMap<string, SandboxAnswer>): SandboxAnswer;
}

/** An API that the sandbox plays. */
export interface PlayedApi {
  /** The domain that a request asks about, from its path and query; undefined for another page. */
  domainOf(target: string): string | undefined;
  /** The answer to a call; `call` counts from 1 for each domain. */
  reply(domain: string, call: number): SandboxAnswer;
  /** How it answers several domains in one call. @default it has no batches */
  readonly batch?: PlayedBatch | undefined;
  /** How it refuses a call without the credential, beyond the limit, or beyond the quota. */
  readonly refusals: {
    readonly [K in 'unauthorized' | 'rate_limited' | 'quota_exceeded']?: SandboxAnswer;
  };
}

/**
 * A reply of the sandbox to a call: an answer, `reset` (the connection is reset without an answer)
 * or `hang` (never answered; the connection stays open).
 */
export type SandboxReply = SandboxAnswer | 'reset' | 'hang';

/** An answer over HTTP. */
export interface SandboxAnswer {
  /** @default 200 */
  status?: number;
  /** Added to `Content-Type` (JSON, unless given here) and `Content-Length`. */
  headers?: Readonly<Record<string, string>>;
  /**
   * A string or bytes are sent as they are, anything else as JSON.
   * @default no body
   */
  body?: unknown;
  /**
   * What it is charged, for the quota and the stats.
   * @default 1 for 200 and 404, else 0
   */
  charge?: number;
  /**
   * Milliseconds until it is sent.
   * @default what the option `latencyMs` says
   */
  delayMs?: number;
  /**
   * Close the connection after half of the promised body.
   * @default false
   */
  breakOff?: boolean;
  /**
   * Instead of all above but the delay: what goes over the wire as it is. The connection is closed
   * after it. `status` is then what the counts say.
   */
  raw?: string;
  /**
   * Count the call as faulted whatever its status, because the answer is unusable.
   * @default the value of `breakOff`
   */
  broken?: boolean;
}

/** What an option must be, and a value that is not, as it is shown; undefined for a good one. */
type Problem = readonly [expected: string, value: unknown] | undefined;

/** What is wrong with a value; undefined for a good one. Values come from programs without types. */
type Check = (value: never) => Problem;

/**
 * Every option, with what it must be. The help of the command has their words for people; their
 * names, choices and bounds are these.
 */
const DECLARED: Readonly<Record<keyof SandboxOptions, Check>> = {
  host: (value: unknown) => expect(typeof value === 'string', 'a text', value),
  port: (value: unknown) =>
    expect(isWhole(value, 0, 65_535), 'a whole number from 0 to 65535', value),
  latencyMs: checkLatency,
  limit: checkLimit,
  limitKind: oneOf(LIMIT_KINDS),
  burst: (value: unknown) => expect(isWhole(value, 1), 'a whole number, 1 or more', value),
  limitHeaders: oneOf(LIMIT_HEADERS),
  limitStatus: (value: unknown) => expect(value === 429 || value === 503, '429 or 503', value),
  errors: checkShare,
  notFound: checkShare,
  broken: checkShare,
  auth: (value: unknown) =>
    expect(
      isAuth(value),
      "an object such as { scheme: 'bearer', key: 'secret' }",
      describeKind(value), // not the value: it may be the key
    ),
  quota: (value: unknown) => expect(isWhole(value, 0), 'a whole number, 0 or more', value),
  seed: anything,
  logos: anything,
  gzip: anything,
  countPerDomain: anything,
  script: (value: unknown) =>
    expect(Array.isArray(value), 'a list of rules such as [{ status: 503 }]', value),
  respond: (value: unknown) => expect(typeof value === 'function', 'a function', value),
  api: anything,
};

/**
 * Checks the options that a person may get wrong. An unknown one is refused: a rehearsal without the
 * intended latency or faults would show nothing.
 *
 * @throws SandboxError that names the option, what it must be, and what it is
 */
export function checkOptions(options: SandboxOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`: expected its options as an object, received ${describeKind(options)}.`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(DECLARED, name)) {
      const all = Object.keys(DECLARED).join(', ');
      throw invalid(`: it has no option '${name}'; there are: ${all}`);
    }
    if (value !== undefined) refuse(name, DECLARED[name as keyof SandboxOptions](value as never));
  }
  const { errors = 0, broken = 0, script = [] } = options;
  refuse('errors', expect(errors + broken <= 1, 'at most 1 together with broken', errors + broken));
  for (const [at, rule] of script.entries()) {
    const [first] = findRuleProblems(rule);
    if (first === undefined) continue;
    const name = `script[${at}]${first.key === undefined ? '' : `.${first.key}`}`;
    throw invalid(` as '${name}' ${first.problem}`);
  }
}

function refuse(option: string, problem: Problem): void {
  if (problem === undefined) return;
  const [expected, value] = problem;
  throw invalid(` as '${option}' must be ${expected}: current value is ${String(value)}`);
}

function invalid(why: string): SandboxError {
  return new SandboxError('sandbox_invalid_option', `Cannot start the sandbox${why}`);
}

function expect(isFine: boolean, expected: string, value: unknown): Problem {
  return isFine ? undefined : [expected, value];
}

function anything(): undefined {
  return undefined;
}

function oneOf(choices: readonly string[]): Check {
  return (value: string) => expect(choices.includes(value), `one of ${choices.join(', ')}`, value);
}

function isWhole(value: unknown, least: number, most = Number.POSITIVE_INFINITY): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function checkShare(value: number): Problem {
  return expect(value >= 0 && value <= 1, 'a share from 0 to 1', value);
}

function checkLimit(value: LimitRate | null): Problem {
  if (typeof value !== 'object' || value === null) {
    return ['an object such as { count: 5, perMs: 1000 }', value];
  }
  const { count, perMs } = value;
  if (!isWhole(count, 1)) return ['a whole number of calls, 1 or more', count];
  return expect(perMs > 0 && perMs < Infinity, 'per a time longer than 0 ms', perMs);
}

/** The longest wait of a timer, about 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

function checkLatency(value: NonNullable<SandboxOptions['latencyMs']> | null): Problem {
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null)) {
    return ['a number, or a range such as { fromMs: 20, toMs: 7000 }', value];
  }
  const { fromMs, toMs } = typeof value === 'number' ? { fromMs: value, toMs: value } : value;
  const shown = `${fromMs} to ${toMs}`;
  if (!(fromMs >= 0 && toMs <= LONGEST_MS)) return ['from 0 to 24 days', shown];
  return expect(fromMs <= toMs, 'a range that goes upwards', shown);
}

function isAuth(auth: unknown): boolean {
  if (typeof auth !== 'object' || auth === null) return false;
  const { scheme, key } = auth as { readonly scheme?: unknown; readonly key?: unknown };
  return typeof key === 'string' && isScheme(scheme);
}

function isScheme(scheme: unknown): boolean {
  if (typeof scheme !== 'object' || scheme === null)
    return scheme === 'bearer' || scheme === 'basic';
  const { header, query } = scheme as { readonly header?: unknown; readonly query?: unknown };
  return typeof (header ?? query) === 'string';
}

/** Reasons why the sandbox could not be started. */
type SandboxErrorCode = 'sandbox_port_in_use' | 'sandbox_cannot_listen' | 'sandbox_invalid_option';

/** The sandbox could not be started; the message says what to change. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
