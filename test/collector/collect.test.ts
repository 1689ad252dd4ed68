import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/calls/outcome.ts';
import { createCollector } from '../../src/collector/collect.ts';
import { outcomeOf } from '../store/outcomes.ts';

const OUTCOME = outcomeOf('acme.com');

describe('createCollector', () => {
  it('acknowledges an outcome only when the store has it for good', async () => {
    const outstanding = new Set(['acme.com', 'bolt.com']);
    const counted: string[] = [];
    let commit = (): void => {};
    const committed = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const puts: Outcome[] = [];
    const collect = createCollector({
      store: {
        put: async (outcome) => {
          puts.push(outcome);
          await committed;
        },
      },
      outstanding,
      startedAtMs: 500,
      now: () => 9_000,
      onOutcome: ({ status }) => counted.push(status),
    });
    let isAcknowledged = false;
    const collecting = collect([OUTCOME]).then(() => {
      isAcknowledged = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect({ isAcknowledged, counted, left: outstanding.size }).toEqual({
      isAcknowledged: false,
      counted: [],
      left: 2,
    });
    commit();
    await collecting;
    expect({ counted, left: [...outstanding] }).toEqual({ counted: ['found'], left: ['bolt.com'] });
    expect(puts).toEqual([OUTCOME]);
  });

  it('never dates an outcome before the run or after now', async () => {
    const dates: number[] = [];
    const collect = createCollector({
      store: { put: async ({ fetchedAtMs }) => void dates.push(fetchedAtMs) },
      outstanding: new Set(['1.com', '6.com', '99.com']),
      startedAtMs: 5_000,
      now: () => 9_000,
      onOutcome: () => {},
    });
    const dated = (fetchedAtMs: number): Outcome => ({
      ...OUTCOME,
      domain: `${fetchedAtMs / 1_000}.com`,
      fetchedAtMs,
    });
    await collect([dated(1_000), dated(6_000), dated(99_000)]);
    expect(dates).toEqual([5_000, 6_000, 9_000]);
  });
});
