import { describe, expect, it } from 'vitest';
import { linearScale, logScale, timeScale } from '../../src/report/speed.ts';

describe('a scale', () => {
  it.each([
    [0, [0, 0.5]],
    [0.003, [0, 0.001, 0.002, 0.003]],
    [7, [0, 2, 4, 6, 8]],
    [100, [0, 50, 100]],
    [131, [0, 50, 100, 150]],
  ])('from 0 to %d has round numbers', (most, ticks) => {
    const scale = linearScale(most);
    expect(scale.ticks).toEqual(ticks);
    expect(scale.placeOf(0)).toBe(0);
    expect(scale.placeOf(scale.ticks.at(-1) ?? 0)).toBeCloseTo(1);
  });

  it('of values that are far apart is logarithmic', () => {
    const scale = logScale(12, 1_900);
    expect(scale.ticks).toEqual([10, 20, 50, 100, 200, 500, 1_000, 2_000]);
    expect(scale.placeOf(10)).toBeCloseTo(0);
    expect(scale.placeOf(2_000)).toBeCloseTo(1);
    expect(scale.placeOf(0)).toBeCloseTo(0);
    expect(logScale(0.4, 60_000).ticks).toEqual([1, 10, 100, 1_000, 10_000, 100_000]);
  });

  it.each([
    [0, [0]],
    [900, [0, 200, 400, 600, 800]],
    [65_000, [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]],
    [5.5 * 3_600_000, [0, 1, 2, 3, 4, 5].map((hours) => hours * 3_600_000)],
    [20 * 86_400_000, [0, 5, 10, 15, 20].map((days) => days * 86_400_000)],
  ])('of a time of %d ms has lines at times of day-to-day use', (endMs, ticks) => {
    expect(timeScale(endMs).ticks).toEqual(ticks);
  });
});
