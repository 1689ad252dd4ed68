import { draw, purposes } from './random.ts';

/** Milliseconds that a call takes, from the hash of its domain and the ordinal of the call. */
export type Latency = (hash: number, ordinal: number) => number;

/**
 * Distance of the 1st and the 99th percentile of a normal distribution from its mean, in standard
 * deviations.
 */
const PERCENTILE_99 = 2.326;

/**
 * Create the latency of the sandbox, or `undefined` for none.
 *
 * @param latencyMs fixed, or the 1st and 99th percentile of a log-normal distribution that is clamped to them
 */
export function createLatency(
  latencyMs: number | { fromMs: number; toMs: number } | undefined,
): Latency | undefined {
  if (latencyMs === undefined || latencyMs === 0) return undefined;
  if (typeof latencyMs === 'number') return () => latencyMs;
  const { fromMs, toMs } = latencyMs;
  const from = Math.log(Math.max(fromMs, 1));
  const to = Math.log(Math.max(toMs, 1));
  const mean = (from + to) / 2;
  const deviation = (to - from) / 2 / PERCENTILE_99;
  return (hash, ordinal) => {
    const drawn = Math.exp(mean + deviation * drawNormal(hash, ordinal));
    return Math.min(toMs, Math.max(fromMs, drawn));
  };
}

/** Draw from the standard normal distribution (Box and Muller's method). */
function drawNormal(hash: number, ordinal: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw(hash, purposes.latency, ordinal)));
  return radius * Math.cos(2 * Math.PI * draw(hash, purposes.latencyAngle, ordinal));
}
