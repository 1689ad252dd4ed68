import { z } from 'zod';
import { describeKind } from '../common/text.ts';
import type { SandboxAuth } from './auth.ts';
import {
  LIMIT_HEADERS,
  LIMIT_KINDS,
  type LimitHeaders,
  type LimitKind,
  type LimitRate,
} from './limiter.ts';

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
   * The rate limit: `count` calls per `perMs` milliseconds.
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
   * Scripts the answer to a call that passed the credential, the limit, the checks and the quota.
   * `undefined` leaves it to the other options. `call` counts from 1 for each domain, without calls
   * refused before. If it throws, or returns what HTTP cannot carry, the call is answered 500 with
   * the reason.
   */
  respond?: ((domain: string, call: number) => SandboxReply | undefined) | undefined;
  /**
   * Plays another API than the standard contract: where it is asked, how it answers, and how it
   * refuses. What `respond`, `errors`, `limit`, `auth` and `quota` ask for comes first.
   * @default the standard contract
   */
  api?: PlayedApi | undefined;
}

/** An API that the sandbox plays. */
export interface PlayedApi {
  /** The domain that a request asks about, from its path and query; undefined for another page. */
  domainOf(target: string): string | undefined;
  /** The answer to a call; `call` counts from 1 for each domain. */
  reply(domain: string, call: number): SandboxAnswer;
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
}

const share = z
  .number('a share from 0 to 1')
  .min(0, 'a share from 0 to 1')
  .max(1, 'a share from 0 to 1');
const anything = z.unknown();

function whole(least: number, most: number, expected: string): z.ZodType {
  return z.int(expected).min(least, expected).max(most, expected);
}

const TIME = 'from 0 to 24 days, or a range of such that goes upwards: { fromMs: 20, toMs: 7000 }';
/** The longest wait of a timer, about 24 days. */
const time = z
  .number(TIME)
  .min(0, TIME)
  .max(2 ** 31 - 1, TIME);
const LIMIT = 'an object such as { count: 5, perMs: 1000 }';
const AUTH = "an object such as { scheme: 'bearer', key: 'secret' }";

/** Every option, with what it must be. */
const SCHEMA = z
  .strictObject({
    host: z.string('a text'),
    port: whole(0, 65_535, 'a whole number from 0 to 65535'),
    latencyMs: z.union(
      [
        time,
        z.object({ fromMs: time, toMs: time }).refine(({ fromMs, toMs }) => fromMs <= toMs, TIME),
      ],
      TIME,
    ),
    limit: z.object(
      { count: z.int(LIMIT).min(1, LIMIT), perMs: z.number(LIMIT).gt(0, LIMIT) },
      LIMIT,
    ),
    limitKind: z.enum(LIMIT_KINDS, `one of ${LIMIT_KINDS.join(', ')}`),
    burst: whole(1, Infinity, 'a whole number, 1 or more'),
    limitHeaders: z.enum(LIMIT_HEADERS, `one of ${LIMIT_HEADERS.join(', ')}`),
    errors: share,
    notFound: share,
    auth: z.object(
      {
        scheme: z.union(
          [
            z.enum(['bearer', 'basic']),
            z.object({ header: z.string() }),
            z.object({ query: z.string() }),
          ],
          AUTH,
        ),
        key: z.string(AUTH),
      },
      AUTH,
    ),
    quota: whole(0, Infinity, 'a whole number, 0 or more'),
    seed: anything,
    logos: anything,
    respond: z.custom((value) => typeof value === 'function', 'a function'),
    api: anything,
  } satisfies Record<keyof SandboxOptions, z.ZodType>)
  .partial();

/**
 * Checks the options that a person may get wrong. An unknown one is refused: a rehearsal without the
 * intended latency or faults would show nothing.
 *
 * @throws SandboxError that names the option, what it must be, and what it is
 */
export function checkOptions(options: SandboxOptions): void {
  const [issue] = SCHEMA.safeParse(options).error?.issues ?? [];
  if (!issue) return;
  const [name] = issue.path;
  if (issue.code === 'unrecognized_keys') {
    const all = Object.keys(SCHEMA.shape).join(', ');
    throw invalid(`: it has no option '${issue.keys[0]}'; there are: ${all}`);
  }
  if (name === undefined) {
    throw invalid(`: expected its options as an object, received ${describeKind(options)}.`);
  }
  const value = options[name as keyof SandboxOptions];
  // Not the value of a credential.
  const shown = name === 'auth' ? describeKind(value) : JSON.stringify(value);
  throw invalid(` as '${String(name)}' must be ${issue.message}: current value is ${shown}`);
}

function invalid(why: string): SandboxError {
  return new SandboxError('sandbox_invalid_option', `Cannot start the sandbox${why}`);
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
