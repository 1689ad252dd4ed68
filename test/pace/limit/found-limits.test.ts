import { expect, it } from 'vitest';
import { oneProcess } from '../../simulation/clients.ts';
import { leasedWorkers } from '../../simulation/leased-workers.ts';
import {
  allOf,
  begunBefore,
  concurrentCalls,
  fixedWindow,
  type Limit,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from '../../simulation/servers.ts';
import { simulate, type World } from '../../simulation/simulate.ts';

interface Kind {
  readonly name: string;
  limit(): Limit;
  /** How long the calls take at the most, and how many are refused: means of some runs. */
  readonly most: { readonly seconds: number; readonly refused: number };
  /** @default 1,000 */
  readonly calls?: number;
  /** @default 100 */
  readonly serviceMs?: number;
  /** How much that varies. @default little */
  readonly spread?: number;
  readonly errors?: number;
  /** @default one process */
  readonly clients?: () => (world: World) => void;
}

const TELLS = { says: 'retry_after' } as const;
const FOUR_WORKERS = () => leasedWorkers({ workers: 4, callers: 16 });

function changes(atMs: number, before: number, after: number) {
  return (nowMs: number): number => (nowMs < atMs ? before : after);
}

/** What is reached, a little rounded. `npm run simulate` measures more kinds, and in longer runs. */
const KINDS: readonly Kind[] = [
  {
    name: 'a bucket of one call',
    limit: () => tokenBucket(0.05, 1),
    most: { seconds: 34.4, refused: 7 },
  },
  {
    name: 'a bucket of a few calls',
    limit: () => tokenBucket(0.05, 5),
    calls: 3_000,
    most: { seconds: 63, refused: 16.5 },
  },
  {
    name: 'a bucket that workers share',
    limit: () => tokenBucket(0.05, 5),
    calls: 2_000,
    clients: FOUR_WORKERS,
    most: { seconds: 44.8, refused: 13.5 },
  },
  {
    name: 'a bucket that tells to wait a second',
    limit: () => tokenBucket(0.05, 5, TELLS),
    calls: 3_000,
    most: { seconds: 72, refused: 11 },
  },
  {
    name: 'a large bucket',
    limit: () => tokenBucket(0.05, 50),
    calls: 2_000,
    most: { seconds: 39.7, refused: 17 },
  },
  {
    name: 'a fast bucket',
    limit: () => tokenBucket(0.2, 10),
    calls: 3_000,
    most: { seconds: 19.1, refused: 18.5 },
  },
  {
    name: 'a slow bucket, and calls of a second',
    limit: () => tokenBucket(0.002, 6),
    serviceMs: 1_000,
    most: { seconds: 512, refused: 14 },
  },
  {
    name: 'a bucket, and calls of seven seconds',
    limit: () => tokenBucket(0.02, 20),
    serviceMs: 7_000,
    calls: 2_000,
    most: { seconds: 266, refused: 0.5 },
  },
  {
    name: 'a bucket that halves',
    limit: () => tokenBucket(changes(20_000, 0.05, 0.025), 5),
    calls: 2_000,
    most: { seconds: 65, refused: 20 },
  },
  {
    name: 'a bucket that grows',
    limit: () => tokenBucket(changes(10_000, 0.05, 0.2), 5),
    calls: 3_000,
    most: { seconds: 29.1, refused: 22.5 },
  },
  {
    name: 'a bucket, and calls that fail now and then',
    limit: () => tokenBucket(0.05, 50),
    errors: 0.02,
    most: { seconds: 19.7, refused: 14 },
  },
  {
    name: 'a bucket that leaks',
    limit: () => leakyBucket(20, 5),
    most: { seconds: 52, refused: 11 },
  },
  {
    name: 'a window',
    limit: () => fixedWindow(100, 10_000),
    most: { seconds: 99, refused: 31 },
  },
  {
    name: 'a window that tells to wait',
    limit: () => fixedWindow(100, 10_000, TELLS),
    most: { seconds: 100, refused: 12.5 },
  },
  {
    name: 'a window that tells to wait, and that workers share',
    limit: () => fixedWindow(100, 10_000, TELLS),
    clients: FOUR_WORKERS,
    most: { seconds: 101, refused: 22 },
  },
  {
    name: 'a short window of many calls',
    limit: () => fixedWindow(200, 4_000),
    most: { seconds: 19.9, refused: 33.5 },
  },
  {
    name: 'a window whose headers claim four times as much',
    limit: () => fixedWindow(100, 10_000, { says: 'ratelimit', claims: 4 }),
    most: { seconds: 99, refused: 9.5 },
  },
  {
    name: 'a window that slides',
    limit: () => slidingWindow(100, 10_000),
    most: { seconds: 103, refused: 25 },
  },
  {
    name: 'a window that counts refused calls, too',
    limit: () => slidingCounter(100, 10_000),
    most: { seconds: 106, refused: 26.5 },
  },
  {
    name: 'a short window and a long one',
    limit: () => allOf([fixedWindow(10, 1_000, TELLS), fixedWindow(300, 60_000, TELLS)]),
    most: { seconds: 195, refused: 20.5 },
  },
  {
    name: 'one call at a time',
    limit: () => concurrentCalls(1),
    most: { seconds: 127, refused: 13 },
  },
  {
    name: 'one call at a time, of all workers',
    limit: () => concurrentCalls(1),
    calls: 500,
    clients: FOUR_WORKERS,
    most: { seconds: 112, refused: 12.5 },
  },
  {
    name: 'ten calls at a time',
    limit: () => concurrentCalls(10),
    calls: 2_000,
    most: { seconds: 28.3, refused: 9.5 },
  },
  {
    name: 'ten calls at a time, and later eight',
    limit: () => concurrentCalls(changes(20_000, 10, 8)),
    calls: 3_000,
    most: { seconds: 47.2, refused: 17 },
  },
  {
    name: 'ten calls at a time, of all workers',
    limit: () => concurrentCalls(10),
    calls: 2_000,
    clients: FOUR_WORKERS,
    most: { seconds: 31.9, refused: 10.5 },
  },
  {
    name: 'ten calls at a time, and a wait that is told',
    limit: () => concurrentCalls(10, TELLS),
    calls: 2_000,
    most: { seconds: 34.6, refused: 9 },
  },
  {
    name: 'four calls at a time, of 20 ms to 7 s',
    limit: () => concurrentCalls(4),
    serviceMs: 830,
    spread: 1.25,
    most: { seconds: 245, refused: 11 },
  },
  {
    name: 'four calls at a time, of 20 ms to 7 s, and a wait that is told',
    limit: () => concurrentCalls(4, TELLS),
    serviceMs: 830,
    spread: 1.25,
    most: { seconds: 236, refused: 8.5 },
  },
];

const RUNS = 4;
/** Spreads the runs evenly over a window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

it.each(KINDS)('$name: calls are as fast as it allows, and seldom refused', (kind) => {
  const { calls = 1_000, serviceMs = 100, spread, errors = 0, most } = kind;
  const { clients = () => oneProcess(64) } = kind;
  let [seconds, refused] = [0, 0];
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const full = kind.limit();
    const limit = begunBefore(full, ((seed * GOLDEN_RATIO) % 1) * (full.windowMs ?? 0));
    const scenario = { limit, calls, seed, serviceMs, spread, errors };
    const { elapsedMs, throttledAtMs } = simulate(scenario, clients());
    seconds += elapsedMs / 1_000 / RUNS;
    refused += throttledAtMs.length / RUNS;
  }
  expect(seconds).toBeLessThanOrEqual(most.seconds);
  expect(refused).toBeLessThanOrEqual(most.refused);
});
