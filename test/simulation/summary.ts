import type { Result } from './simulate.ts';

export const SEEDS = 20;

/** Means over the runs of one cell. */
export interface Summary {
  readonly areAllComplete: boolean;
  readonly warmEfficiency: number;
  readonly warmThrottled: number;
  readonly throttled: number;
  /** In the worst run. */
  readonly mostThrottled: number;
}

export function summarize(run: (seed: number) => Result, seeds = SEEDS): Summary {
  const results = Array.from({ length: seeds }, (_, index) => run(index + 1));
  const mean = (of: (result: Result) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0) / results.length;
  return {
    areAllComplete: results.every(({ isComplete }) => isComplete),
    warmEfficiency: mean(({ warmEfficiency }) => warmEfficiency),
    warmThrottled: mean(({ warmThrottled }) => warmThrottled),
    throttled: mean(({ throttled }) => throttled),
    mostThrottled: Math.max(...results.map(({ throttled }) => throttled)),
  };
}
