import { describe, expect, it } from 'vitest';
import type { Outcome, OutcomeStatus } from '../../src/calls/outcome.ts';
import {
  type AskedApi,
  createRowAnswers,
  isDueAt,
  placesToAsk,
} from '../../src/collector/asked-apis.ts';
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

/** Of three APIs that are asked in turn, what each has said: in this run, or long before it. */
type Said = readonly [one: Stored, two?: Stored, three?: Stored];

function severalOf(said: Said): readonly AskedApi[] {
  return ['one', 'two', 'three'].map((name, at) => {
    const latest = storedOutcome(said[at], name);
    const reason = latest?.status === 'found' ? '' : 'http_404';
    const outcome = latest && { ...latest, reason };
    return {
      name,
      store: {
        find: () => outcome,
        findHead: () => outcome,
        findAnswer: () => (outcome?.status === 'found' ? outcome : undefined),
      },
      isUsable: (_, { fetchedAtMs }) => fetchedAtMs >= STARTED_AT_MS,
      next: new Set<OutcomeStatus>(['not_found', 'failed']),
    };
  });
}

const FOUND: Stored = ['found', 0];
const UNKNOWN: Stored = ['not_found', 0];
const FAILED: Stored = ['failed', 0];
const REFUSED: Stored = ['rejected', 0];
const LONG_AGO: Stored = ['found', 9];

describe('of several APIs', () => {
  it.each<[string, Said, readonly number[], number | undefined]>([
    ['the first is asked first', [undefined], [0, 1, 2], 0],
    ['the next is, about what it does not know', [UNKNOWN], [1, 2], 1],
    ['the third is, after two that had no answer', [FAILED, UNKNOWN], [2], 2],
    ['nobody is, after an answer', [UNKNOWN, FOUND], [], undefined],
    ['nobody further is, after an outcome that is not named', [REFUSED], [], undefined],
    ['one is asked again whose answer is too old', [LONG_AGO, UNKNOWN], [0, 2], 0],
  ])('%s', (_, said, places, due) => {
    const apis = severalOf(said);
    const headOf = ({ store, isUsable }: AskedApi) => {
      const head = store.findHead('a.com');
      return head && isUsable('a.com', head) ? head : undefined;
    };
    expect(placesToAsk(apis, headOf)).toEqual(places);
    expect([0, 1, 2].filter((at) => isDueAt(apis, at, 'a.com'))).toEqual(
      due === undefined ? [] : [due],
    );
  });

  it.each<[string, Said, object]>([
    ['of the first that found it', [UNKNOWN, FOUND, FOUND], { json: 'two', at: 1, said: '' }],
    [
      'of the one that failed, where the others do not know it',
      [FAILED, UNKNOWN, UNKNOWN],
      { at: 0 },
    ],
    [
      'of one that is still to be asked, before all others',
      [FAILED, UNKNOWN],
      { json: undefined, at: 2, said: 'one failed http_404; two not_found http_404' },
    ],
    [
      'of the last, where none knows it',
      [UNKNOWN, UNKNOWN, UNKNOWN],
      { at: 2, said: 'one not_found http_404; two not_found http_404; three not_found http_404' },
    ],
    [
      'of one after which no other is asked',
      [REFUSED, FAILED],
      { at: 0, said: 'one rejected http_404' },
    ],
    ['of an older answer while one is silent', [FAILED, LONG_AGO], { older: 'two', at: 1 }],
  ])('a row has the answer %s', (_, said, expected) => {
    const row = createRowAnswers({ apis: severalOf(said), keepsStale: true })('a.com');
    const { outcome, older, at, said: words } = row;
    const json = outcome?.status === 'found' ? outcome.json : undefined;
    expect({ json, older: older?.json, at, said: words }).toMatchObject(expected);
  });
});
