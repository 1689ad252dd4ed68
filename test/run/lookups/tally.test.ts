import { expect, it } from 'vitest';
import type { KeptOutcome } from '../../../src/collector/collect.ts';
import { createTally } from '../../../src/run/lookups/progress.ts';

const outcome = (domain: string, status: KeptOutcome['status']): KeptOutcome => ({
  domain,
  status,
  attempts: 1,
  fetchedAtMs: 0,
});

it('counts lookups, and the rows that have their domains', () => {
  const tally = createTally((domain) => (domain === 'often.com' ? 5 : 1));
  tally.add(outcome('often.com', 'found'));
  tally.add(outcome('once.com', 'found'));
  tally.add(outcome('none.com', 'not_found'));
  expect(tally.done).toBe(3);
  expect(tally.outcomes).toEqual({ found: 2, not_found: 1, rejected: 0, failed: 0, pending: 0 });
  expect(tally.rows).toEqual({ found: 6, not_found: 1, rejected: 0, failed: 0, pending: 0 });
});

it('counts what comes of a domain that is asked once more instead of its failure', () => {
  const tally = createTally(() => 3);
  tally.add(outcome('acme.com', 'failed'));
  expect(tally.rows.failed).toBe(3);
  tally.again('acme.com');
  tally.add(outcome('acme.com', 'found'));
  expect(tally.done).toBe(1);
  expect(tally.rows).toEqual({ found: 3, not_found: 0, rejected: 0, failed: 0, pending: 0 });
});

it('calls that no outcome reports are added, but for those that were taken off too often', () => {
  const tally = createTally(() => 1);
  tally.addUnreported({ calls: 3, retries: -1, billedMicros: 0, throttled: 0 });
  expect(tally.counters).toEqual({ calls: 3, retries: 0, billedMicros: 0, throttled: 0 });
  tally.addUnreported({ calls: -5, retries: 2, billedMicros: 0, throttled: 1 });
  expect(tally.counters).toEqual({ calls: 3, retries: 2, billedMicros: 0, throttled: 1 });
});
