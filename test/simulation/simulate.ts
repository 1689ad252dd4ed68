import { findLimits } from '../../src/brand/limits.ts';
import type { PacedCall } from '../../src/worker/pace.ts';
import { createRandom } from '../support/random.ts';
import { type Limit, OUR_EPOCH_MS, type Verdict } from './servers.ts';
import { createVirtualTime, normal, type VirtualTime } from './virtual-time.ts';

/** The end of a call, as its client learns of it. */
export interface CallEnd extends Omit<PacedCall, 'inFlight'> {
  readonly kind: 'accepted' | 'throttled' | 'failed';
}

export interface Scenario {
  readonly limit: Limit;
  /** Calls that have to be accepted. */
  readonly calls: number;
  readonly seed: number;
  /** How long the server works on a call, on average. */
  readonly serviceMs: number;
  /** How much that varies: the standard deviation of its logarithm. @default 0.4 */
  readonly spread?: number | undefined;
  /** Share of calls answered with a server error. */
  readonly errors?: number;
  /** When the run ends at the latest. @default after more than a day: a run that starves ends */
  readonly longestMs?: number;
}

/** What the clients of a simulation see of the world. */
export interface World {
  readonly time: VirtualTime;
  random(): number;
  /** Takes one of the calls that are left to make; false when there is none. */
  take(): boolean;
  /**
   * Sends a call that was taken; one that was not accepted is to be made again.
   */
  send(onAnswer: (event: CallEnd) => void): void;
  isDone(): boolean;
}

export interface Result {
  readonly isComplete: boolean;
  readonly accepted: number;
  /** Accepted calls over what the server would have allowed, after a tenth of the calls. */
  readonly warmEfficiency: number;
  /** Share of calls answered 429, after a tenth of the calls. */
  readonly warmThrottled: number;
  /** Of all calls. */
  readonly throttled: number;
  readonly elapsedMs: number;
  /** When calls were answered. */
  readonly acceptedAtMs: readonly number[];
  readonly throttledAtMs: readonly number[];
}

type Said = Pick<Verdict, 'headers'>;

/** One way over the network, on average. */
const ONE_WAY_MS = 10;
const USUAL_SPREAD = 0.4;
const REFUSAL_MS = 3;
const ERROR_MS = 20;
/** A run that takes longer has starved. */
const LONGEST_MS = 100_000_000;

/** Lets clients make their calls at a server in virtual time. */
export function simulate(scenario: Scenario, clients: (world: World) => void): Result {
  const { limit, calls, seed, serviceMs, spread = USUAL_SPREAD, errors = 0 } = scenario;
  const { longestMs = LONGEST_MS } = scenario;
  const random = createRandom(seed);
  const time = createVirtualTime();
  const acceptedAtMs: number[] = [];
  const throttledAtMs: number[] = [];
  let left = calls;
  let latencies = 0;
  const oneWayMs = (): number => Math.min(ONE_WAY_MS, serviceMs / 2) * (0.5 + random());

  clients({
    time,
    random,
    take: () => {
      if (left === 0) return false;
      left -= 1;
      return true;
    },
    send: (onAnswer) => {
      const sentAtMs = time.nowMs();
      const answer = (
        afterMs: number,
        event: Omit<CallEnd, 'sentAtMs' | 'latencyMs'> & Said,
      ): void =>
        time.at(time.nowMs() + afterMs + oneWayMs(), () => {
          const latencyMs = time.nowMs() - sentAtMs;
          if (event.kind === 'accepted') {
            acceptedAtMs.push(time.nowMs());
            latencies += latencyMs;
          } else left += 1;
          if (event.kind === 'throttled') throttledAtMs.push(time.nowMs());
          const { kind, headers } = event;
          const { retryAfterMs, limits } = headers ? readHeaders(headers, time.nowMs()) : event;
          onAnswer({ kind, retryAfterMs, limits, sentAtMs, latencyMs }); // a spread takes ten times as long
        });
      time.at(sentAtMs + oneWayMs(), () => {
        if (random() < errors) return answer(ERROR_MS, { kind: 'failed' });
        const { isAccepted, ...said } = limit.arrive(time.nowMs());
        if (!isAccepted) return answer(REFUSAL_MS, { kind: 'throttled', ...said });
        const factor = Math.exp(spread * normal(random) - spread ** 2 / 2);
        time.at(time.nowMs() + serviceMs * factor, () => {
          limit.done?.();
          answer(0, { kind: 'accepted', ...said });
        });
      });
    },
    isDone: () => acceptedAtMs.length >= calls,
  });
  time.run(() => acceptedAtMs.length >= calls || time.nowMs() > longestMs);

  const accepted = acceptedAtMs.length;
  const warmFrom = Math.floor(accepted / 10);
  const fromMs = acceptedAtMs[warmFrom] ?? 0;
  const warmThrottled = throttledAtMs.filter((atMs) => atMs >= fromMs).length;
  return {
    isComplete: accepted === calls,
    accepted,
    warmEfficiency: efficiency(limit, acceptedAtMs.slice(warmFrom), latencies / accepted),
    warmThrottled: warmThrottled / (accepted - warmFrom + warmThrottled),
    throttled: throttledAtMs.length / (accepted + throttledAtMs.length),
    elapsedMs: time.nowMs(),
    acceptedAtMs,
    throttledAtMs,
  };
}

function efficiency(limit: Limit, acceptedAtMs: readonly number[], latencyMs: number): number {
  const firstMs = acceptedAtMs[0] ?? 0;
  const lastMs = acceptedAtMs.at(-1) ?? 0;
  if (limit.concurrent !== undefined) {
    return (((acceptedAtMs.length - 1) / (lastMs - firstMs)) * latencyMs) / limit.concurrent;
  }
  const { windowMs = 0, begunMs = 0 } = limit;
  if (windowMs === 0) {
    return (acceptedAtMs.length - 1) / (limit.allowed?.(firstMs, lastMs) ?? 0);
  }
  const fromMs = Math.ceil((firstMs + begunMs) / windowMs) * windowMs - begunMs;
  const toMs = Math.floor((lastMs + begunMs) / windowMs) * windowMs - begunMs;
  const whole = acceptedAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
  return whole / (limit.allowed?.(fromMs, toMs) ?? 0);
}

/** What the client makes of an answer's headers. */
function readHeaders(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): Pick<PacedCall, 'retryAfterMs' | 'limits'> {
  const { limits } = findLimits(headers, OUR_EPOCH_MS + nowMs) ?? {};
  return { limits, retryAfterMs: limits?.remaining ? undefined : limits?.resetMs };
}
