import { play } from './play.ts';
import type { Server } from './server.ts';
import type { Limit, World } from './world.ts';

/** What a share of the limit is used, and a share of the calls refused for. */
export interface Used {
  /** Of what the limit allows. */
  readonly used: number;
  /** Of all calls. */
  readonly refused: number;
}

/** A limit that is to be found and kept to. */
export interface Paced extends Partial<World> {
  readonly name: string;
  readonly limits: readonly Limit[];
}

const SECOND = 1_000;
const limit = (kind: Limit['kind'], count: number, perS: number, more: Partial<Limit> = {}) =>
  ({ kind, count, perMs: perS * SECOND, ...more }) satisfies Limit;
const WAITS = { headers: 'retry-after' } as const;
const RESETS = { headers: 'x-ratelimit' } as const;
const paced = (name: string, limits: readonly Limit[], more: Partial<World> = {}): Paced => ({
  name,
  limits,
  ...more,
});

/** Served for 5,000 calls: measured once warm. */
export const LONG: readonly Paced[] = [
  paced('bucket 50/s, burst 1', [limit('bucket', 50, 1, { burst: 1 })]),
  paced('bucket 50/s, burst 50', [limit('bucket', 50, 1, { burst: 50 })]),
  paced('bucket 200/s, burst 10', [limit('bucket', 200, 1, { burst: 10 })]),
  paced('bucket 50/s, burst 5, waits', [limit('bucket', 50, 1, { burst: 5, ...WAITS })]),
  paced('windows of 100 in 10 s, waits', [limit('fixed', 100, 10, WAITS)]),
  paced('windows of 100 in 10 s', [limit('fixed', 100, 10)]),
  paced('any 100 in 10 s', [limit('sliding', 100, 10)]),
  paced('any 50 in 1 s, X-RateLimit', [limit('sliding', 50, 1, RESETS)]),
  paced('windows of 5 in 1 s, X-RateLimit', [limit('fixed', 5, 1, RESETS)], { domains: 2_500 }),
  paced('10 at once', [limit('at_once', 10, 1)]),
  paced('4 at once, 20 ms to 7 s', [limit('at_once', 4, 1)], { latencyMs: 850, spread: 1.25 }),
  paced('10/s and 300 a minute, waits', [
    limit('fixed', 10, 1, WAITS),
    limit('fixed', 300, 60, WAITS),
  ]),
  paced('50/s, then 25/s', [limit('bucket', 50, 1, { burst: 5 })], {
    change: { atMs: 60_000, factor: 0.5 },
  }),
  paced('50/s, then 200/s', [limit('bucket', 50, 1, { burst: 5 })], {
    change: { atMs: 30_000, factor: 4 },
  }),
  paced('bucket 50/s, 1 s a call', [limit('bucket', 50, 1, { burst: 50 })], { latencyMs: 1_020 }),
  paced('bucket 20/s, 7 s a call', [limit('bucket', 20, 1, { burst: 20 })], { latencyMs: 7_020 }),
  paced('bucket 5/s, 1 s a call', [limit('bucket', 5, 1, { burst: 5 })], {
    latencyMs: 1_020,
    domains: 2_500,
  }),
  paced('bucket 1/s, 300 calls', [limit('bucket', 1, 1, { burst: 1 })], {
    latencyMs: 320,
    domains: 300,
  }),
  paced('bucket 50/s, 2 % errors', [limit('bucket', 50, 1, { burst: 50 })], {
    faults: { share: 0.02, reply: '500' },
  }),
  paced('headers claim four times as much', [
    limit('fixed', 100, 10, { headers: 'ratelimit', claims: 4 }),
  ]),
];

/** Measured in the first 45 s of a cold start, from the second window on. */
export const COLD: readonly Paced[] = [
  ...[
    limit('fixed', 40, 4),
    limit('fixed', 100, 5),
    limit('fixed', 100, 10),
    limit('fixed', 300, 5),
  ]
    .flatMap((one) => [one, { ...one, ...WAITS }])
    .map((one) => {
      const waits = 'headers' in one ? ', waits' : '';
      return paced(`windows of ${one.count} in ${one.perMs / SECOND} s${waits}`, [one]);
    }),
  paced('any 40 in 4 s', [limit('sliding', 40, 4)]),
  paced('any 200 in 4 s', [limit('sliding', 200, 4)]),
  paced('HAProxy 100 in 10 s', [limit('counter', 100, 10)]),
  paced('30/s, then nothing for 5 s', [
    limit('bucket', 30, 1, { burst: 30, penaltyMs: 5_000, ...WAITS }),
  ]),
  paced('nginx 20/s, burst 20', [limit('leaky', 20, 1, { burst: 20 })]),
  paced('nginx 20/s, burst 5', [limit('leaky', 20, 1, { burst: 5 })]),
];

const COLD_MS = 45_000;
/** As of a far server and a near one. */
const COLD_LATENCIES_MS = [120, 10] as const;
/** Spreads the seeds evenly over a window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** Windows begin anywhere before the start. */
function worldOf(cell: Paced, seed: number): World {
  const limits = cell.limits.map((one) =>
    isWindow(one) ? { ...one, begunMs: ((seed * GOLDEN_RATIO) % 1) * one.perMs } : one,
  );
  const rest = { domains: 5_000, callers: 256, latencyMs: 120, ...cell };
  return { ...rest, limits, name: `${cell.name}, seed ${seed}` };
}

const isWindow = ({ kind }: Limit): boolean => kind === 'fixed' || kind === 'sliding';

/** What one worker makes of a limit after a tenth of the calls, on average. */
export async function measureLong(cell: Paced, seeds: number): Promise<Used> {
  return await meanOver(seeds, async (seed) => {
    const world = worldOf(cell, seed);
    const { server } = await play(world);
    const { acceptedAtMs: all, refusedAtMs } = server;
    const fromMs = all[Math.floor(all.length / 10)] ?? 0;
    return {
      used: usedBetween(world, server, fromMs, all.at(-1) ?? 0),
      refused: refusedAtMs.length / (all.length + refusedAtMs.length),
    };
  });
}

/** What one worker makes of a limit at first, on average, near and far. */
export async function measureCold(cell: Paced, seeds: number): Promise<Used> {
  const means = COLD_LATENCIES_MS.map(async (latencyMs) => {
    return await meanOver(seeds, async (seed) => {
      const windowMs = Math.max(...cell.limits.map(({ perMs }) => perMs));
      const most = Math.max(
        ...cell.limits.map(({ count, perMs }) => (count / perMs) * COLD_MS + count),
      );
      const cold = { ...cell, domains: Math.ceil(most), callers: 64, latencyMs };
      const world = worldOf(cold, seed);
      const { server } = await play(world);
      const [accepted, refused] = [server.acceptedAtMs, server.refusedAtMs].map(
        (all) => all.filter((atMs) => atMs < COLD_MS).length,
      ) as [number, number];
      const fromMs = cell.limits.every(isWindow) ? 1 : windowMs;
      const used = usedBetween(world, server, fromMs, COLD_MS);
      return { used, refused: refused / (accepted + refused) };
    });
  });
  const [far, near] = await Promise.all(means);
  if (!far || !near) throw new RangeError('Nothing was measured.');
  // The worse of each.
  return {
    used: Math.min(far.used, near.used),
    refused: Math.max(far.refused, near.refused),
  };
}

async function meanOver(seeds: number, measure: (seed: number) => Promise<Used>): Promise<Used> {
  let used = 0;
  let refused = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const one = await measure(seed);
    used += one.used / seeds;
    refused += one.refused / seeds;
  }
  return { used, refused };
}

/** Of whole windows only, since what is allowed in a part of one is not known. */
function usedBetween(world: World, server: Server, fromMs: number, toMs: number): number {
  const { limits = [], latencyMs } = world;
  const slowest = limits.reduce((one, other) =>
    other.count / other.perMs < one.count / one.perMs ? other : one,
  );
  const { kind, count, begunMs = 0 } = slowest;
  const perMs = isWindow(slowest) ? slowest.perMs : 0;
  const [first, last] = [
    perMs === 0 ? fromMs : Math.ceil((fromMs + begunMs) / perMs) * perMs - begunMs,
    perMs === 0 ? toMs : Math.floor((toMs + begunMs) / perMs) * perMs - begunMs,
  ];
  const accepted = server.acceptedAtMs.filter((atMs) => atMs >= first && atMs < last).length;
  if (kind === 'at_once') return accepted / (((last - first) * count) / latencyMs);
  const { atMs = last, factor = 1 } = world.change ?? {};
  const changedMs = Math.max(0, last - Math.max(first, atMs));
  const fullMs = last - first - changedMs + changedMs * factor;
  return accepted / ((fullMs * count) / slowest.perMs);
}
