import type { LimitHeaders } from '../../src/sandbox/limiter.ts';
import type { ReplyName } from './replies.ts';

/** An API, a list and a machine, as data. Times are milliseconds from the start of the run. */
export interface World {
  readonly name: string;
  readonly domains: number;
  /** Calls that may be in flight at once. */
  readonly callers: number;
  /** How long a call takes, on average. */
  readonly latencyMs: number;
  /** How much that varies: the standard deviation of its logarithm. @default 0.4 */
  readonly spread?: number;
  /** A cache that is cold: so many times as long until then. */
  readonly cold?: { readonly untilMs: number; readonly factor: number };
  /** By how much each call in flight makes all others slower. @default 0 */
  readonly crowdMs?: number;
  /** A call has to pass all. */
  readonly limits?: readonly Limit[];
  /** From then on all limits are so many times what they were. */
  readonly change?: { readonly atMs: number; readonly factor: number };
  /** Somebody else calls with the same key. */
  readonly others?: Span & { readonly perSecond: number };
  /** What some domains are answered, each time. */
  readonly own?: readonly Own[];
  /** Where those stand in the list. @default spread */
  readonly order?: 'spread' | 'first' | 'last';
  /** What calls are answered whatever their domain and pace. */
  readonly troubles?: readonly Trouble[];
  /** The user pauses the run. */
  readonly pause?: Span;
  /** The machine sleeps: its clock jumps, and its connections are lost. */
  readonly sleep?: Span;
  /** Between the first half of the list and the second nobody wants a call. */
  readonly idle?: {
    readonly forMs: number;
    /** Whether another run looks the second half up, and remembers what the first one learned. */
    readonly isNextRun: boolean;
  };
  /**
   * The limit that an earlier run remembered, in calls per second.
   *
   * @default nothing is remembered
   */
  readonly remembered?: number;
  /** The user's `--rate`. @default auto */
  readonly rate?: { readonly count: number; readonly perMs: number };
  /** Domains in one call. @default 1 */
  readonly batch?: number;
  /** Whether the run is to stop, or may. @default it is not to */
  readonly stop?: 'must' | 'may';
}

export interface Span {
  readonly fromMs: number;
  readonly forMs: number;
}

export interface Trouble extends Span {
  readonly reply: ReplyName;
  /** Of all calls: some of those that no limit refused, or all that arrive. */
  readonly share: number;
  /** What `Retry-After` says, in seconds. @default nothing */
  readonly waitS?: number;
}

export interface Own {
  /** Of all domains. */
  readonly share: number;
  readonly reply: ReplyName;
  /** Whether all get one text, each its own, or the one of the limit. @default one */
  readonly text?: 'one' | 'own' | 'limit';
  /** Whether a batch with such a domain is answered so as a whole. @default false */
  readonly spoilsBatch?: boolean;
}

export interface Limit {
  /** `leaky` is nginx's `limit_req`, `counter` HAProxy's `http_req_rate`. */
  readonly kind: 'bucket' | 'fixed' | 'sliding' | 'at_once' | 'leaky' | 'counter';
  readonly count: number;
  readonly perMs: number;
  /** What a bucket holds. @default what it gets in a second, at most 20 */
  readonly burst?: number;
  /** What a call beyond it is answered. @default 429 */
  readonly told?: ReplyName;
  /** What its answers say of it. @default none */
  readonly headers?: LimitHeaders;
  /** How many times as much they claim. @default 1 */
  readonly claims?: number;
  /** How long all are refused after a call that was. @default 0 */
  readonly penaltyMs?: number;
  /** How long before the start its windows are counted from. @default 0 */
  readonly begunMs?: number;
}

/** `count` calls in so many seconds. */
export function limit(
  kind: Limit['kind'],
  count: number,
  perS: number,
  more: Partial<Limit> = {},
): Limit {
  return { kind, count, perMs: perS * 1_000, ...more };
}

export const FOREVER: number = Number.POSITIVE_INFINITY;
/** How often a lookup is retried. */
export const RETRIES = 5;
/** How long a call may take. */
export const TIMEOUT_MS = 60_000;

/** Whether all calls are answered so from the start. */
export function isHopeless({ troubles = [] }: World): boolean {
  return troubles.some(
    ({ fromMs, forMs, share }) => fromMs === 0 && forMs === FOREVER && share === 1,
  );
}

export const isDuring = ({ fromMs, forMs }: Span, timeMs: number): boolean =>
  timeMs >= fromMs && timeMs < fromMs + forMs;

/** Calls that the server works on at the same time, at most. */
export function mostAtOnce(world: Pick<World, 'limits' | 'change'>, timeMs: number): number {
  const { limits = [], change } = world;
  const factor = change && timeMs >= change.atMs ? change.factor : 1;
  const [most = FOREVER] = limits
    .filter(({ kind }) => kind === 'at_once')
    .map(({ count }) => count);
  return most * factor;
}

/** What each domain is answered that has an answer of its own. */
export function ownAnswers(world: World, random: () => number): readonly (Own | undefined)[] {
  const { domains, own = [], order = 'spread' } = world;
  const all = own.flatMap((one) => Array<Own>(Math.round(one.share * domains)).fill(one));
  const others = Array<undefined>(domains - all.length).fill(undefined);
  if (order === 'first') return [...all, ...others];
  if (order === 'last') return [...others, ...all];
  const places = [...all, ...others].map((one) => ({ one, at: random() }));
  return places.sort((a, b) => a.at - b.at).map(({ one }) => one);
}
