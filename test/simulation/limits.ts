import { createLimiter, limitHeaders } from '../../src/sandbox/limiter.ts';
import { type Limit, mostAtOnce, type World } from './world.ts';

/** What a server says to a call that arrives. */
export interface Verdict {
  readonly isAccepted: boolean;
  /** How long until another one may be. */
  readonly waitMs: number;
  /** The limit that refused it. */
  readonly by?: Limit;
  /** What the limits say of themselves. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The limits of a world, with whoever else uses them. Times must not go backwards. */
export interface Limits {
  arrive(nowMs: number): Verdict;
  /** A call that was accepted is done. */
  done(): void;
}

/** What our clock shows at the time 0 of a world. */
export const EPOCH_MS: number = Date.UTC(2026, 10, 20);
/** The server's clock is ahead of ours. */
const SERVER_EPOCH_MS = EPOCH_MS + 37_213;

/** One limit's word on a call. */
type Decide = (nowMs: number) => {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
};

const SANDBOX = {
  bucket: 'token-bucket',
  fixed: 'fixed-window',
  sliding: 'sliding-window',
} as const;

function decideBy({ kind, count, perMs, burst }: Limit): Decide {
  if (kind === 'leaky') return leaky((count / perMs) * 1_000, burst ?? 0);
  if (kind === 'counter') return counter(count, perMs);
  const perSecond = (count / perMs) * 1_000;
  const holds = burst ?? Math.max(1, Math.min(20, perSecond));
  return createLimiter(SANDBOX[kind as keyof typeof SANDBOX], { count, perMs }, holds);
}

/**
 * A bucket that leaks so many calls and holds `burst` more than one. It counts in whole
 * milliseconds.
 */
function leaky(perSecond: number, burst: number): Decide {
  let excess = -1;
  let lastMs = 0;
  return (nowMs) => {
    const atMs = Math.floor(nowMs);
    const leaked = ((atMs - lastMs) * perSecond) / 1_000;
    const then = excess < 0 ? 0 : Math.max(0, excess - leaked + 1);
    const allowed = then <= burst;
    if (allowed) [excess, lastMs] = [then, atMs];
    const retryAfterMs = Math.max(0, ((then - burst) * 1_000) / perSecond);
    return { allowed, remaining: 0, retryAfterMs, resetMs: retryAfterMs };
  };
}

/**
 * Counters of two periods: of the one before counts as much as the last `perMs` still reach into
 * it. Refused calls count, too.
 */
function counter(count: number, perMs: number): Decide {
  let [beganMs, before, calls] = [0, 0, 0];
  return (nowMs) => {
    if (nowMs - beganMs >= perMs) {
      const isLong = nowMs - beganMs >= 2 * perMs;
      [beganMs, before, calls] = isLong ? [nowMs, 0, 0] : [beganMs + perMs, calls, 0];
    }
    calls += 1;
    const leftMs = beganMs + perMs - nowMs;
    const allowed = Math.floor(calls + (before * leftMs) / perMs) <= count;
    return { allowed, remaining: 0, retryAfterMs: allowed ? 0 : leftMs, resetMs: leftMs };
  };
}

/**
 * A limit that is another one from some time on, and may refuse all for a while once it refused
 * one.
 */
function createLimit(limit: Limit, { atMs, factor }: NonNullable<World['change']>): Decide {
  const { begunMs = 0, penaltyMs = 0, count } = limit;
  const first = decideBy(limit);
  const then = decideBy({ ...limit, count: count * factor });
  let shutUntilMs = 0;
  return (nowMs) => {
    const retryAfterMs = shutUntilMs - nowMs;
    if (retryAfterMs > 0) {
      return { allowed: false, remaining: 0, retryAfterMs, resetMs: retryAfterMs };
    }
    const verdict = (nowMs < atMs ? first : then)(nowMs + begunMs);
    if (verdict.allowed || penaltyMs === 0) return verdict;
    shutUntilMs = nowMs + penaltyMs;
    return { ...verdict, retryAfterMs: penaltyMs };
  };
}

const NO_HEADERS: Verdict['headers'] = {};

function headersOf(limit: Limit, said: ReturnType<Decide>, nowMs: number): Verdict['headers'] {
  const { headers = 'none', count, perMs, claims = 1 } = limit;
  if (headers === 'none') return NO_HEADERS;
  const clockMs = SERVER_EPOCH_MS + nowMs;
  const claimed = { ...said, remaining: said.remaining + count * (claims - 1) };
  const told = limitHeaders(headers, { count: count * claims, perMs }, claimed, clockMs);
  const lower = Object.entries(told).map(([name, value]) => [name.toLowerCase(), value]);
  return { date: new Date(clockMs).toUTCString(), ...Object.fromEntries(lower) };
}

const NO_CHANGE = { atMs: Number.POSITIVE_INFINITY, factor: 1 };
const BUSY_MS = 1_000;

export function createLimits(world: Pick<World, 'limits' | 'change' | 'others'>): Limits {
  const { limits = [], change = NO_CHANGE, others } = world;
  const atOnce = limits.find(({ kind }) => kind === 'at_once');
  const counted = limits
    .filter((limit) => limit !== atOnce)
    .map((limit) => ({ limit, decide: createLimit(limit, change) }));
  let busy = 0;
  let othersMs = others?.fromMs ?? 0;

  /** A call that a later limit refuses has counted at those before. */
  function pass(nowMs: number): Verdict {
    let headers = NO_HEADERS;
    for (const { limit, decide } of counted) {
      const said = decide(nowMs);
      headers = headersOf(limit, said, nowMs);
      if (!said.allowed)
        return { isAccepted: false, waitMs: said.retryAfterMs, by: limit, headers };
    }
    return { isAccepted: true, waitMs: 0, headers };
  }

  return {
    arrive: (nowMs) => {
      if (others) {
        const toMs = Math.min(nowMs, others.fromMs + others.forMs);
        for (; othersMs <= toMs; othersMs += 1_000 / others.perSecond) pass(othersMs);
      }
      if (atOnce && busy >= mostAtOnce(world, nowMs)) {
        return { isAccepted: false, waitMs: BUSY_MS, by: atOnce, headers: NO_HEADERS };
      }
      const verdict = pass(nowMs);
      if (verdict.isAccepted) busy += 1;
      return verdict;
    },
    done: () => {
      busy -= 1;
    },
  };
}
