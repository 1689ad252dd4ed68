import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/calls/outcome.ts';
import { watchOutcomes } from '../../../src/run/lookups/session.ts';
import { outcomeOf } from '../../store/outcomes.ts';

/**
 * Passes outcomes of a run on, and tells after how many it was stopped, and how many were
 * collected.
 */
async function watch(outcomes: readonly Outcome[], failedBefore: (domain: string) => boolean) {
  let collected = 0;
  let stoppedAfter: number | undefined;
  const reply = watchOutcomes(
    async (some) => {
      collected += some.length;
    },
    {
      job: { settings: { maxFailed: 0.2 } },
      store: {
        findHead: (domain: string) =>
          failedBefore(domain) ? { status: 'failed', fetchedAtMs: 0 } : undefined,
      },
    } as never,
    () => {
      stoppedAfter ??= collected + 1;
    },
  );
  for (const outcome of outcomes) await reply([outcome]);
  return { collected, stoppedAfter };
}

function failuresOf(name: string, count: number): Outcome[] {
  return Array.from({ length: count }, (_, at) =>
    outcomeOf(`${name}${at}.com`, { status: 'failed', json: '', reason: 'http_500' }),
  );
}

const isOld = (domain: string): boolean => domain.startsWith('old');

describe('a run whose lookups fail', () => {
  it('is stopped by new failures, however many domains fail again beside them', async () => {
    const outcomes = [...failuresOf('old', 800), ...failuresOf('new', 200)];
    expect(await watch(outcomes, isOld)).toEqual({ collected: 1_000, stoppedAfter: 1_000 });
  });

  it('is not stopped by domains that fail again', async () => {
    const { collected, stoppedAfter } = await watch(failuresOf('old', 1_000), isOld);
    expect({ collected, stoppedAfter }).toEqual({ collected: 1_000, stoppedAfter: undefined });
  });

  it('counts what was found for a domain that failed before', async () => {
    const mended = Array.from({ length: 160 }, (_, at) => outcomeOf(`old${at}.com`));
    const { stoppedAfter } = await watch([...mended, ...failuresOf('new', 40)], isOld);
    expect(stoppedAfter).toBeUndefined();
  });
});
