import { describe, expect, it, onTestFinished } from 'vitest';
import type { KeptOutcome } from '../../../src/collector/collect.ts';
import { createCallCounters } from '../../../src/common/calls.ts';
import { createEarlierLookups } from '../../../src/run/lookups/open-lookups.ts';
import { createTally, startReportingProgress } from '../../../src/run/lookups/progress.ts';
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

it('calls that no outcome reports are added', () => {
  const tally = createTally(() => 1);
  tally.addUnreported({ calls: 3, billedMicros: 5, throttled: 1 });
  expect(tally.counters).toEqual({ calls: 3, retries: 0, billedMicros: 5, throttled: 1 });
});

const STARTED_AT_MS = 1_000;

function shareOf(domain: string, fetchedAtMs: number) {
  const isFresh = (each: string): boolean => each === 'kept.com';
  const inherited = createEarlierLookups({ startedAtMs: STARTED_AT_MS, isFresh });
  inherited.add(['kept.com', 'waiting.com']);
  return inherited.shareOf({ domain, status: 'found', attempts: 2, throttled: 1, fetchedAtMs });
}

it('calls that were made before the run began are not its own', () => {
  expect(shareOf('waiting.com', 999)).toMatchObject({ attempts: 0, throttled: 0 });
  expect(shareOf('waiting.com', 1_000)).toMatchObject({ attempts: 2, throttled: 1 });
});

it('what the earlier run has kept is counted as fresh, and not again', () => {
  expect(shareOf('kept.com', 999)).toBeUndefined();
});

it('an outcome of a lookup of its own counts, also if the clock of its worker is behind', () => {
  expect(shareOf('own.com', 999)).toMatchObject({ attempts: 2, throttled: 1 });
});

/** What a run of five lookups in ten rows tells last, when two of them were made here. */
function endOf({ isStopped }: { isStopped: boolean }): RunEvent[] {
  const events: RunEvent[] = [];
  const tally = createTally((domain) => (domain === 'often.com' ? 3 : 1));
  const progress = startReportingProgress({
    plan: { rows: 10, invalidRows: 1, freshRows: 2, lookups: 5 },
    tally,
    outstanding: new Set(),
    counters: () => createCallCounters(),
    local: () => undefined,
    parking: () => undefined,
    isAlone: () => false,
    onEvent: (event) => events.push(event),
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
        rowsSoFar: { invalid: 1, fresh: 2, found: 3, not_found: 1, skipped: 3 },
      },
    ]);
  });
});
