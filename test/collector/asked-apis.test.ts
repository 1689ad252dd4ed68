import { describe, expect, it } from 'vitest';
import type { Outcome, OutcomeStatus } from '../../src/calls/outcome.ts';
import { createRowAnswers } from '../../src/collector/asked-apis.ts';
import { outcomeOf } from '../store/outcomes.ts';

const STARTED_AT_MS = 1_000_000;

/**
 * The latest outcome of a domain, or the latest answer: how it ended, and how long before the run.
 */
type Stored = readonly [status: OutcomeStatus, agoMs: number] | undefined;

function storedOutcome(stored: Stored, json: string): Outcome | undefined {
  const [status, agoMs = 0] = stored ?? [];
  return status && outcomeOf('a.com', { status, fetchedAtMs: STARTED_AT_MS - agoMs, json });
}

function answersOf(latest: Stored, older: Stored, keepsStale = true) {
  const [outcome, answer] = [storedOutcome(latest, 'latest'), storedOutcome(older, 'older')];
  const answers = createRowAnswers({
    apis: [
      {
        name: 'one',
        store: { find: () => outcome, findHead: () => outcome, findAnswer: () => answer },
        isUsable: (_, { fetchedAtMs }) => fetchedAtMs >= STARTED_AT_MS,
        next: new Set(),
      },
    ],
    keepsStale,
  });
  const row = answers('a.com');
  return { outcome: row.outcome?.status, older: row.older?.json };
}

const OLDER = { older: 'older' };

describe('a row gets', () => {
  it.each<[string, latest: Stored, older: Stored, expected: object]>([
    ['what this run found', ['found', -5], ['found', 9], { outcome: 'found' }],
    ['nothing where it is unknown now', ['not_found', 0], ['found', 9], { outcome: 'not_found' }],
    ['nothing where it was refused', ['rejected', 0], ['found', 9], { outcome: 'rejected' }],
    ['the older one after a failure', ['failed', 0], ['found', 9], { outcome: 'failed', ...OLDER }],
    ['the older one while pending', ['pending', 0], ['found', 9], { outcome: 'pending', ...OLDER }],
    ['the older answer where none was made', ['found', 9], ['found', 9], OLDER],
    ['the older answer, however old', undefined, ['found', 900_000], OLDER],
    ['no values of a domain that was not known', undefined, ['not_found', 9], {}],
    ['nothing where there is nothing', undefined, undefined, {}],
  ])('%s', (_, latest, older, expected) => {
    const nothing = { outcome: undefined, older: undefined };
    expect(answersOf(latest, older)).toEqual({ ...nothing, ...expected });
  });

  it('no older answer at all where none may stand in', () => {
    expect(answersOf(['failed', 0], ['found', 0], false).older).toBeUndefined();
  });
});
