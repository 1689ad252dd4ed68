import { describe, expect, it, onTestFinished } from 'vitest';
import { createCallCounters } from '../../../src/common/calls.ts';
import { createTally, startTellingProgress } from '../../../src/run/lookups/progress.ts';
import { createRecentOutcomes, type RunEvent } from '../../../src/watch/events.ts';

/** What a run of five lookups in ten rows tells last, when two of them were made here. */
function endOf({ isStopped }: { isStopped: boolean }): RunEvent[] {
  const events: RunEvent[] = [];
  const tally = createTally((domain) => (domain === 'often.com' ? 3 : 1));
  const progress = startTellingProgress({
    plan: { rows: 10, invalidRows: 1, freshRows: 2, lookups: 5 },
    tally,
    recent: createRecentOutcomes(),
    outstanding: new Set(),
    counters: () => createCallCounters(),
    local: () => undefined,
    elsewhere: () => undefined,
    parking: () => undefined,
    isAlone: () => false,
    awaited: () => undefined,
    comesInBursts: false,
    api: 'http://127.0.0.1:9',
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => progress.end());
  const outcome = { attempts: 1, fetchedAtMs: 0 };
  tally.add({ ...outcome, domain: 'often.com', status: 'found' });
  tally.add({ ...outcome, domain: 'none.com', status: 'not_found' });
  progress.tellEnd(isStopped);
  return events;
}

describe('the last word of a run', () => {
  it('counts rows as skipped that a stopped run has left', () => {
    const events = endOf({ isStopped: true });
    expect(events).toMatchObject([
      {
        type: 'progress',
        lookups: 5,
        done: 2,
        rows: { total: 10, invalid: 1, fresh: 2, found: 3, not_found: 1, skipped: 3 },
      },
    ]);
  });

  it('counts rows as known whose domains another run has looked up, and says so', () => {
    const [progress, notice, ...others] = endOf({ isStopped: false });
    expect(progress).toMatchObject({
      type: 'progress',
      lookups: 5,
      done: 5,
      rows: { total: 10, invalid: 1, fresh: 5, found: 3, not_found: 1, skipped: 0 },
    });
    expect(notice).toMatchObject({
      type: 'notice',
      level: 'info',
      message: expect.stringMatching(/^Another run has looked up 3 of the domains/) as string,
    });
    expect(others).toEqual([]);
  });
});
