import { describe, expect, it, onTestFinished } from 'vitest';
import type { KeptOutcome } from '../../../src/collector/collect.ts';
import { createCallCounters } from '../../../src/common/calls.ts';
import { createTally } from '../../../src/run/lookups/looking-up.ts';
import { startReportingProgress } from '../../../src/run/lookups/progress.ts';
import type { RunEvent } from '../../../src/watch/events.ts';

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

/** What a run of five lookups in ten rows tells last, when two of them were made here. */
function endOf({ isStopped }: { isStopped: boolean }): RunEvent[] {
  const events: RunEvent[] = [];
  const tally = createTally((domain) => (domain === 'often.com' ? 3 : 1));
  const run = {
    plan: { rows: 10, invalidRows: 1, freshRows: 2, lookups: 5 },
    tally,
    outstanding: new Set<string>(),
    isAlone: false,
    job: { endpoint: {}, settings: {} },
    context: { onEvent: (event: RunEvent) => events.push(event) },
  };
  const progress = startReportingProgress(run as never, {
    counters: createCallCounters,
    lookups: () => undefined,
  });
  onTestFinished(() => progress.end());
  const outcome = { attempts: 1, fetchedAtMs: 0 };
  tally.add({ ...outcome, domain: 'often.com', status: 'found' });
  tally.add({ ...outcome, domain: 'none.com', status: 'not_found' });
  progress.reportEnd(isStopped);
  return events;
}

describe('the last word of a run', () => {
  it('counts rows as skipped that a stopped run has left', () => {
    const events = endOf({ isStopped: true });
    expect(events).toMatchObject([
      {
        type: 'progress',
        due: 5,
        lookups: 2,
        statuses: { invalid: 1, fresh: 2, found: 3, not_found: 1, skipped: 3 },
      },
    ]);
  });
});
