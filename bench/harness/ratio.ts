import type { Finding } from './measure.ts';
import { spreadOf } from './statistics.ts';

export interface RatioFinding {
  readonly what: string;
  readonly ours: string;
  readonly baseline: string;
  /** One ratio a round, ours to the baseline's. */
  readonly ratios: readonly number[];
  /** The goal for the median. */
  readonly atLeast: number;
}

/** A finding on ratios: their median against the goal, and how far they spread. */
export function ratioFinding({ ratios, atLeast, ...shown }: RatioFinding): Finding {
  const { median, least, most } = spreadOf(ratios);
  return {
    ...shown,
    figure: `${format(median)} (${format(least)} to ${format(most)})`,
    target: `>= ${atLeast}`,
    isMet: median >= atLeast,
  };
}

/** A rate per second, as people read it. */
export function perSecond(count: number, elapsedMs: number): string {
  return `${Math.round(count / (elapsedMs / 1_000)).toLocaleString('en')}/s`;
}

/** Milliseconds as seconds. */
export function seconds(elapsedMs: number): string {
  return `${(elapsedMs / 1_000).toFixed(2)} s`;
}

function format(ratio: number): string {
  return ratio.toFixed(2);
}
