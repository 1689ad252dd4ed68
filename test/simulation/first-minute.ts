import { oneProcess } from './clients.ts';
import { leasedWorkers } from './leased-workers.ts';
import {
  begunBefore,
  fixedWindow,
  type Limit,
  leakyBucket,
  penalized,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from './servers.ts';
import { simulate } from './simulate.ts';

/** A server at which the first seconds decide: it has windows, or saves calls up, and says little. */
export interface FirstMinuteServer {
  readonly name: string;
  readonly windowMs: number;
  readonly perSecond: number;
  /** What is reached, a little rounded. @default LEAST */
  readonly target?: FirstMinute;
  limit(): Limit;
}

const RETRY_AFTER = { says: 'retry_after' } as const;

function windows(count: number, perMs: number): FirstMinuteServer[] {
  const said = `${count} per ${perMs / 1_000} s`;
  const shared = { windowMs: perMs, perSecond: (count / perMs) * 1_000 };
  return [
    { ...shared, name: `fixed ${said}`, limit: () => fixedWindow(count, perMs) },
    {
      ...shared,
      name: `fixed ${said}, Retry-After`,
      limit: () => fixedWindow(count, perMs, RETRY_AFTER),
    },
  ];
}

function sliding(count: number, perMs: number): FirstMinuteServer {
  return {
    name: `sliding ${count} per ${perMs / 1_000} s`,
    windowMs: perMs,
    perSecond: (count / perMs) * 1_000,
    limit: () => slidingWindow(count, perMs),
  };
}

export const LEAST: FirstMinute = { used: 0.9, throttled: 0.09 };

export const FIRST_MINUTE_SERVERS: readonly FirstMinuteServer[] = [
  ...windows(40, 4_000),
  ...windows(100, 5_000),
  ...windows(100, 10_000),
  ...windows(300, 5_000),
  sliding(40, 4_000),
  { ...sliding(200, 4_000), target: { used: 0.9, throttled: 0.02 } },
  {
    name: 'HAProxy 100 per 10 s',
    windowMs: 10_000,
    perSecond: 10,
    // It counts the refused calls, too: each test while it is closed keeps it closed for longer.
    target: { used: 0.6, throttled: 0.12 },
    limit: () => slidingCounter(100, 10_000),
  },
  {
    name: '30/s, then Retry-After: 5',
    windowMs: 1_000,
    perSecond: 30,
    // Taken for 30 in 5 s it would be 20 %.
    target: { used: 0.5, throttled: 0.04 },
    limit: () => penalized(tokenBucket(0.03, 30), 5_000),
  },
  {
    name: 'nginx 20/s, burst 20',
    windowMs: 1_000,
    perSecond: 20,
    limit: () => leakyBucket(20, 20),
  },
  {
    name: 'nginx 20/s, burst 5',
    windowMs: 1_000,
    perSecond: 20,
    limit: () => leakyBucket(20, 5),
  },
];

const RUN_MS = 45_000;
const CALLERS = 64;
/** How long the server works on a call, on average: as a far and as a near one. */
export const SERVICE_MS = [100, 5] as const;
export const FEW_WORKERS = [1, 4] as const;
export const FIRST_MINUTE_SEEDS = 10;
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export interface FirstMinute {
  /** Accepted calls from the second window on, over what the server allows. */
  readonly used: number;
  /** Calls answered 429, over all calls. */
  readonly throttled: number;
}

interface Setting {
  readonly workers: number;
  readonly serviceMs: number;
}

/** Means over some runs of 45 s from a cold start, each in another part of a window. */
export function meanFirstMinute(
  server: FirstMinuteServer,
  setting: Setting,
  seeds = FIRST_MINUTE_SEEDS,
): FirstMinute {
  const runs = Array.from({ length: seeds }, (_, index) =>
    runFirstMinute(server, { ...setting, seed: index + 1 }),
  );
  const mean = (of: (run: FirstMinute) => number): number =>
    runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  return { used: mean(({ used }) => used), throttled: mean(({ throttled }) => throttled) };
}

function runFirstMinute(
  { limit, windowMs, perSecond }: FirstMinuteServer,
  { workers, seed, serviceMs }: Setting & { readonly seed: number },
): FirstMinute {
  const hasWindows = limit().windowMs !== undefined;
  const begunMs = hasWindows ? ((seed * GOLDEN_RATIO) % 1) * windowMs : 0;
  const { acceptedAtMs, throttledAtMs } = simulate(
    {
      limit: begunBefore(limit(), begunMs),
      calls: Number.POSITIVE_INFINITY,
      longestMs: RUN_MS,
      seed,
      serviceMs,
    },
    workers === 1 ? oneProcess(CALLERS) : leasedWorkers({ workers, callers: CALLERS / workers }),
  );
  const fromMs = windowMs - begunMs;
  const whole = fromMs + Math.floor((RUN_MS - fromMs) / windowMs) * windowMs;
  const toMs = hasWindows ? whole : RUN_MS;
  const accepted = acceptedAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
  const calls = acceptedAtMs.length + throttledAtMs.length;
  return {
    used: accepted / (((toMs - fromMs) * perSecond) / 1_000),
    throttled: throttledAtMs.length / calls,
  };
}
