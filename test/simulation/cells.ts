import { oneProcess } from './clients.ts';
import { leasedWorkers } from './leased-workers.ts';
import {
  allOf,
  begunBefore,
  concurrentCalls,
  fixedWindow,
  type Limit,
  slidingWindow,
  tokenBucket,
} from './servers.ts';
import { type Result, simulate } from './simulate.ts';

export interface Server {
  readonly name: string;
  limit(): Limit;
  /** @default 100 */
  readonly serviceMs?: number;
  /** How much that varies. @default little */
  readonly spread?: number;
  readonly errors?: number;
  readonly calls?: number;
}

const PER_MS = 1 / 1_000;
const CALLS = 5_000;
/** More than the limits allow in flight: it is the pacer that has to hold them back. */
const CALLERS = 256;

/** A limit that is another one from some time on. */
function from(changeMs: number, before: number, after: number) {
  return (nowMs: number): number => (nowMs < changeMs ? before : after) * PER_MS;
}

export const SERVERS: readonly Server[] = [
  { name: 'token bucket 50/s, burst 1', limit: () => tokenBucket(50 * PER_MS, 1) },
  { name: 'token bucket 50/s, burst 50', limit: () => tokenBucket(50 * PER_MS, 50) },
  {
    name: 'token bucket 200/s, burst 10',
    limit: () => tokenBucket(200 * PER_MS, 10),
  },
  {
    name: 'token bucket 50/s, burst 5, Retry-After',
    limit: () => tokenBucket(50 * PER_MS, 5, { says: 'retry_after' }),
  },
  {
    name: 'fixed window 100 per 10 s, Retry-After',
    limit: () => fixedWindow(100, 10_000, { says: 'retry_after' }),
  },
  {
    name: 'fixed window 100 per 10 s, no header',
    limit: () => fixedWindow(100, 10_000),
  },
  { name: 'sliding window 100 per 10 s', limit: () => slidingWindow(100, 10_000) },
  {
    name: 'sliding window 50 per 1 s, X-RateLimit',
    limit: () => slidingWindow(50, 1_000, { says: 'x_ratelimit' }),
  },
  {
    name: 'fixed window 5 per 1 s, X-RateLimit',
    limit: () => fixedWindow(5, 1_000, { says: 'x_ratelimit' }),
    calls: 2_500,
  },
  { name: 'at most 10 concurrent', limit: () => concurrentCalls(10) },
  {
    name: 'at most 4 at once, 20 ms-7 s',
    limit: () => concurrentCalls(4),
    serviceMs: 830,
    spread: 1.25,
  },
  {
    name: '10/s and 300/min, Retry-After',
    limit: () =>
      allOf([
        fixedWindow(10, 1_000, { says: 'retry_after' }),
        fixedWindow(300, 60_000, { says: 'retry_after' }),
      ]),
  },
  { name: 'halves: 50/s, then 25/s', limit: () => tokenBucket(from(60_000, 50, 25), 5) },
  {
    name: 'grows: 50/s, then 200/s',
    limit: () => tokenBucket(from(30_000, 50, 200), 5),
  },
  { name: 'token bucket, 1 s', limit: () => tokenBucket(50 * PER_MS, 50), serviceMs: 1_000 },
  { name: 'token bucket, 7 s', limit: () => tokenBucket(20 * PER_MS, 20), serviceMs: 7_000 },
  {
    name: 'token bucket 5/s, burst 5, 1 s',
    limit: () => tokenBucket(5 * PER_MS, 5),
    serviceMs: 1_000,
    calls: 2_500,
  },
  {
    name: 'token bucket 1/s, burst 1, 300 calls',
    limit: () => tokenBucket(PER_MS, 1),
    serviceMs: 300,
    calls: 300,
  },
  {
    name: 'token bucket, 2 % errors',
    limit: () => tokenBucket(50 * PER_MS, 50),
    errors: 0.02,
  },
  {
    name: 'headers claim four times as much',
    limit: () => fixedWindow(100, 10_000, { says: 'ratelimit', claims: 4 }),
  },
];

export const WORKERS = [1, 4, 16] as const;

/** Spreads the seeds evenly over a window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

function limitOf(server: Server, seed: number): Limit {
  const limit = server.limit();
  const { windowMs = 0 } = limit;
  return windowMs === 0 ? limit : begunBefore(limit, ((seed * GOLDEN_RATIO) % 1) * windowMs);
}

/** One run of one cell. */
export function runCell(server: Server, workers: number, seed: number): Result {
  const { serviceMs = 100, spread, errors = 0, calls = CALLS } = server;
  return simulate(
    { limit: limitOf(server, seed), calls, seed, serviceMs, spread, errors },
    workers === 1 ? oneProcess(CALLERS) : leasedWorkers({ workers, callers: CALLERS / workers }),
  );
}
