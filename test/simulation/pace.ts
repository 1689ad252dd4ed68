import { play } from './play.ts';
import { FOREVER, type Limit, limit, type World } from './world.ts';

/** What a share of the limit is used, and a share of the calls refused for. */
export interface Used {
  /** Of what the limit allows. */
  readonly used: number;
  /** Of all calls. */
  readonly refused: number;
}

/** A limit that is to be found and kept to, and what is reached, a little rounded. */
export interface Paced extends Partial<Used & World> {
  readonly name: string;
  readonly limits: readonly Limit[];
}

const WAITS = { headers: 'retry-after' } as const;
const RESETS = { headers: 'x-ratelimit' } as const;
const paced = (
  name: string,
  limits: Limit | readonly Limit[],
  more: Partial<Paced> = {},
): Paced => ({
  ...more,
  name,
  limits: [limits].flat(),
});

const bucket = (count: number, burst: number, more: Partial<Limit> = {}): Limit =>
  limit('bucket', count, 1, { burst, ...more });
const slow = (latencyMs: number, domains = 5_000): Partial<World> => ({ latencyMs, domains });
const later = (atMs: number, factor: number): Partial<World> => ({ change: { atMs, factor } });
const failing = (share: number): Partial<World> => ({
  troubles: [{ reply: '500', share, fromMs: 0, forMs: FOREVER }],
});

/** Measured over 5,000 calls, after the first tenth. */
export const LONG: readonly Paced[] = [
  // Calls arrive up to 10 ms early, one every 20 ms is allowed, and none saved up.
  paced('bucket 50/s, burst 1', bucket(50, 1), { used: 0.5, refused: 0.02 }),
  paced('bucket 50/s, burst 50', bucket(50, 50)),
  paced('bucket 200/s, burst 10', bucket(200, 10), { used: 0.92 }),
  // What the first second holds back, a second for each refusal.
  paced('bucket 50/s, burst 5, waits', bucket(50, 5, WAITS), { used: 0.78 }),
  paced('windows of 100 in 10 s, waits', limit('fixed', 100, 10, WAITS)),
  paced('windows of 100 in 10 s', limit('fixed', 100, 10)),
  paced('any 100 in 10 s', limit('sliding', 100, 10)),
  paced('any 50 in 1 s, X-RateLimit', limit('sliding', 50, 1, RESETS), { used: 0.86 }),
  paced('windows of 5 in 1 s, X-RateLimit', limit('fixed', 5, 1, RESETS), { domains: 2_500 }),
  paced('10 at once', limit('at_once', 10, 1)),
  // Few of its calls take most of the time.
  paced('4 at once, to 7 s', limit('at_once', 4, 1), { used: 0.88, latencyMs: 850, spread: 1.25 }),
  paced('10/s, 300 a minute, waits', [
    limit('fixed', 10, 1, WAITS),
    limit('fixed', 300, 60, WAITS),
  ]),
  paced('50/s, then 25/s', bucket(50, 5), later(60_000, 0.5)),
  // A limit is tested ever more seldom: that one has grown is slow to be seen.
  paced('50/s, then 200/s', bucket(50, 5), { used: 0.5, ...later(30_000, 4) }),
  paced('bucket 50/s, 1 s a call', bucket(50, 50), slow(1_020)),
  // What is learned is learned in round trips, and 5,000 calls at 20/s are 36 of those.
  paced('bucket 20/s, 7 s a call', bucket(20, 20), { used: 0.65, ...slow(7_020) }),
  paced('bucket 5/s, 1 s a call', bucket(5, 5), slow(1_020, 2_500)),
  paced('bucket 1/s, 300 calls', bucket(1, 1), { used: 0.75, refused: 0.16, ...slow(320, 300) }),
  paced('bucket 50/s, 2 % errors', bucket(50, 50), failing(0.02)),
  paced('windows of 15 in 1 s, 25 % errors', limit('fixed', 15, 1), failing(0.25)),
  paced(
    'headers claim four times as much',
    limit('fixed', 100, 10, { headers: 'ratelimit', claims: 4 }),
    { refused: 0.019 },
  ),
];

/** Measured in the first 45 s of a cold start, from the second window on. */
export const COLD: readonly Paced[] = [
  paced('windows of 40 in 4 s', limit('fixed', 40, 4)),
  paced('windows of 40 in 4 s, waits', limit('fixed', 40, 4, WAITS)),
  paced('windows of 100 in 5 s', limit('fixed', 100, 5)),
  paced('windows of 100 in 5 s, waits', limit('fixed', 100, 5, WAITS)),
  paced('windows of 100 in 10 s', limit('fixed', 100, 10)),
  paced('windows of 100 in 10 s, waits', limit('fixed', 100, 10, WAITS)),
  paced('windows of 300 in 5 s', limit('fixed', 300, 5)),
  paced('windows of 300 in 5 s, waits', limit('fixed', 300, 5, WAITS)),
  paced('any 40 in 4 s', limit('sliding', 40, 4), { used: 0.88 }),
  paced('any 200 in 4 s', limit('sliding', 200, 4), { used: 0.88, refused: 0.02 }),
  // It counts the refused calls, too: each test while it is closed keeps it closed for longer.
  paced('HAProxy 100 in 10 s', limit('counter', 100, 10), { used: 0.6, refused: 0.12 }),
  // Taken for 30 in 5 s it would be 20 %.
  paced('30/s, or none for 5 s', bucket(30, 30, { penaltyMs: 5_000, ...WAITS }), {
    used: 0.5,
    refused: 0.04,
  }),
  paced('nginx 20/s, burst 20', limit('leaky', 20, 1, { burst: 20 })),
  paced('nginx 20/s, burst 5', limit('leaky', 20, 1, { burst: 5 })),
];

const COLD_MS = 45_000;
/** As of a far server and a near one. */
const COLD_LATENCIES_MS = [120, 10] as const;
/** Spreads the seeds evenly over a window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

const isWindow = ({ kind }: Limit): boolean => kind === 'fixed' || kind === 'sliding';

/** What one worker makes of a limit, on average. */
export async function measureLong(paced: Paced, seeds: number): Promise<Used> {
  return await meanOver(seeds, (seed) => measure(paced, seed, {}));
}

/** What one worker makes of a limit at first, on average: near or far, whichever is worse. */
export async function measureCold(paced: Paced, seeds: number): Promise<Used> {
  const [first = limit('bucket', 1, 1)] = paced.limits;
  const { count, perMs } = first;
  const domains = Math.ceil((count / perMs) * COLD_MS + count);
  const fromMs = isWindow(first) ? 1 : perMs;
  const [far, near] = (await Promise.all(
    COLD_LATENCIES_MS.map((latencyMs) => {
      const cold = { domains, callers: 64, latencyMs };
      return meanOver(seeds, (seed) => measure(paced, seed, cold, [fromMs, COLD_MS]));
    }),
  )) as [Used, Used];
  const refused = Math.max(far.refused, near.refused);
  return { used: Math.min(far.used, near.used), refused };
}

async function meanOver(seeds: number, measureOne: (seed: number) => Promise<Used>): Promise<Used> {
  const all: Used[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) all.push(await measureOne(seed));
  const mean = (of: (one: Used) => number): number =>
    all.reduce((sum, one) => sum + of(one), 0) / seeds;
  return { used: mean(({ used }) => used), refused: mean(({ refused }) => refused) };
}

/** @param span what is measured. @default after a tenth of the calls */
async function measure(
  { name, limits, ...more }: Paced,
  seed: number,
  some: Partial<World>,
  span?: readonly [fromMs: number, toMs: number],
): Promise<Used> {
  const begun = limits.map((one) =>
    isWindow(one) ? { ...one, begunMs: ((seed * GOLDEN_RATIO) % 1) * one.perMs } : one,
  );
  const usual = { name: `${name}, seed ${seed}`, domains: 5_000, callers: 256, latencyMs: 120 };
  const world = { ...usual, ...more, ...some, limits: begun };
  const { acceptedAtMs: all, refusedAtMs } = (await play(world)).server;
  const [fromMs, toMs] = span ?? [all[Math.floor(all.length / 10)] ?? 0, all.at(-1) ?? 0];
  const until = (times: readonly number[]): number => times.filter((atMs) => atMs <= toMs).length;
  const refused = until(refusedAtMs);
  return {
    used: usedBetween(world, all, fromMs, toMs),
    refused: refused / (refused + until(all)),
  };
}

/** Of whole windows only, since what is allowed in a part of one is not known. */
function usedBetween(
  { limits, latencyMs, change }: World & { readonly limits: readonly Limit[] },
  acceptedAtMs: readonly number[],
  fromMs: number,
  toMs: number,
): number {
  const slowest = limits.reduce((one, other) =>
    other.count / other.perMs < one.count / one.perMs ? other : one,
  );
  const { kind, count, perMs, begunMs = 0 } = slowest;
  const whole = (atMs: number, round: (windows: number) => number): number =>
    isWindow(slowest) ? round((atMs + begunMs) / perMs) * perMs - begunMs : atMs;
  const [first, last] = [whole(fromMs, Math.ceil), whole(toMs, Math.floor)];
  const accepted = acceptedAtMs.filter((atMs) => atMs >= first && atMs < last).length;
  const { atMs = last, factor = 1 } = change ?? {};
  const changedMs = Math.max(0, last - Math.max(first, atMs));
  const allowed = (count * (last - first + changedMs * (factor - 1))) / perMs;
  return accepted / (kind === 'at_once' ? (count * (last - first)) / latencyMs : allowed);
}
