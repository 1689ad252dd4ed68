import { Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { PlainHistogram } from '../../src/metrics/call-metrics.ts';

const NAME = {
  name: 'some_duration_seconds',
  help: 'How long it took.',
  buckets: [0.005, 0.1, 2.5],
};

describe('a plain histogram', () => {
  it.each([
    ['without values', []],
    [
      'on the bounds, between and beyond them',
      [0, 0.005, 0.006, 0.1, 2.5, 2.500001, 60, 0.1 + 0.2],
    ],
  ])('tells what that of prom-client does, %s', async (_, values) => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const plain = new PlainHistogram({ ...NAME, registers: [ours] });
    const other = new Histogram({ ...NAME, registers: [theirs] });
    for (const value of values) {
      plain.add(value);
      other.observe(value);
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });
});
