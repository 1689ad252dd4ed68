import { z } from 'zod';
import { refusal } from '../common/errors.ts';
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
   * How long a call takes, in milliseconds. A number is the same for every call. A range is
   * log-normal: `fromMs` is the 1st and `toMs` the 99th percentile, and nothing falls outside of
   * them, so the median is their geometric mean (20 ms to 7 s has a median of 374 ms). Refusals
   * (400, 401, 402, 422, and those of the limit) always come at once.
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
   * Share of the calls, 0 to 1, that are answered 500, 502 or 503. Decided by seed, domain and the
   * ordinal of the call for that domain, so a second try can succeed.
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
  /** How it is asked. */
  readonly method: 'GET' | 'POST';
  /**
   * The domain that a request asks about, from its path, query and body; undefined for another
   * page.
   */
  domainOf(target: string, body: string): string | undefined;
  /** The answer to a call; `call` counts from 1 for each domain. */
  reply(domain: string, call: number): SandboxAnswer;
  /** How it refuses a call without the credential, beyond the limit, or beyond the quota. */
  readonly refusals: {
    readonly [K in 'unauthorized' | 'rate_limited' | 'quota_exceeded']?: SandboxAnswer | undefined;
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

const share = z.number().min(0).max(1);
/** Up to the longest wait of a timer, about 24 days. */
const time = z
  .number()
  .min(0)
  .max(2 ** 31 - 1);

/** Every option, with what it must be. */
const SCHEMA = z
  .strictObject({
    host: z.string(),
    port: z.int().min(0).max(65_535),
    latencyMs: z.union([
      time,
      z
        .object({ fromMs: time, toMs: time })
        .refine(({ fromMs, toMs }) => fromMs <= toMs, 'expected a range that goes upwards'),
    ]),
    limit: z.object({ count: z.int().min(1), perMs: z.number().gt(0) }),
    limitKind: z.enum(LIMIT_KINDS),
    burst: z.int().min(1),
    limitHeaders: z.enum(LIMIT_HEADERS),
    errors: share,
    notFound: share,
    auth: z.object({
      scheme: z.union([
        z.object({ kind: z.enum(['bearer', 'basic']) }),
        z.object({ kind: z.enum(['header', 'query']), name: z.string() }),
      ]),
      key: z.string(),
    }),
    quota: z.int().min(0),
    seed: z.int(),
    logos: z.boolean(),
    respond: z.custom((value) => typeof value === 'function', 'expected a function'),
    api: z.unknown(),
  } satisfies Record<keyof SandboxOptions, z.ZodType>)
  .partial();

/**
 * Checks what a person may get wrong. An unknown option is refused: a rehearsal without the
 * intended latency or faults would show nothing.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function checkOptions(options: SandboxOptions): void {
  const { error } = SCHEMA.safeParse(options);
  if (!error) return;
  const message = `Cannot start the sandbox. ${z.prettifyError(error)}`;
  throw refusal(message);
}
