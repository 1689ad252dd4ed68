import { describe, expect, it } from 'vitest';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { RateTrial, ShareTest } from '../../src/worker/rate-trial.ts';
import { forbidden } from './meanings.ts';

const RATE_PER_MS = 0.8;

/** A trial of a kind that half of all calls got; each `every`th call gets it now, 0 for none. */
function open(share = 0.5) {
  const kind = new AnswerKinds().of(forbidden());
  const trial = new RateTrial(kind, 10, RATE_PER_MS, share);
  const until = (every: number, ratePerMs = trial.ratePerMs, most = 1_000): string | undefined => {
    for (let call = 1; call <= most; call += 1) {
      const told = trial.note(every > 0 && call % every === 0, 10, ratePerMs);
      if (told) return told;
    }
    return undefined;
  };
  return { kind, trial, until };
}

it.each([
  { share: 0.5, every: 2, holds: 'same' },
  { share: 0.5, every: 0, holds: 'other' },
  { share: 0.5, every: 10, holds: 'other' },
  { share: 0.1, every: 10, holds: 'same' },
  { share: 0.1, every: 1, holds: 'other' },
  { share: 1, every: 1, holds: 'same' },
  { share: 0.9, every: 2, holds: 'other' },
] as const)(
  'a share of $share is, when one call in $every is bad: $holds',
  ({ share, every, holds }) => {
    const test = new ShareTest(share);
    let told: string | undefined;
    for (let call = 1; !told && call <= 400; call += 1)
      told = test.note(every > 0 && call % every === 0);
    expect(told).toBe(holds);
  },
);

describe('slower, a kind that half of all calls got', () => {
  it.each([
    { what: 'comes as often: a fault', every: 2, told: ['fault'], state: 'slower' },
    { what: 'is gone: the rate may climb', every: 0, told: ['clean'], state: 'climbing' },
    {
      what: 'comes less: the rest is not about the rate',
      every: 8,
      told: ['clean'],
      state: 'climbing',
    },
  ])('$what', ({ every, told, state }) => {
    const { trial, until } = open();
    expect(told.map(() => until(every))).toEqual(told);
    expect(trial.state).toBe(state);
  });

  it('is not said to be gone by a few calls: it may have come more often by chance', () => {
    const { until } = open(0.9);
    expect(until(0, RATE_PER_MS / 8, 7)).toBeUndefined();
    expect(until(0)).toBe('clean');
  });

  it('is looked at with half of what was accepted, and never an eighth at once', () => {
    expect(open(0.5).trial.ratePerMs).toBe(RATE_PER_MS / 4);
    expect(open(0.99).trial.ratePerMs).toBe(RATE_PER_MS / 8);
  });

  it('is looked at with half of a rate that is slow already', () => {
    const [kind, slow] = [new AnswerKinds().of(forbidden()), 1 / 1_200];
    expect(new RateTrial(kind, 0, slow, 0.99).ratePerMs).toBe(slow / 2);
  });

  it('is a fault where neither explanation is the likelier after 600 calls', () => {
    const { trial } = open();
    const told: (string | undefined)[] = [];
    for (let calls = 1, bad = 0; told.at(-1) === undefined; calls += 1) {
      const isBad = bad < calls * 0.316 - 0.5; // between half and a sixth
      if (isBad) bad += 1;
      told.push(trial.note(isBad, 10, trial.ratePerMs));
    }
    expect([told.length, told.at(-1)]).toEqual([601, 'fault']);
  });

  it('has the share that it had, until calls show another one', () => {
    const { trial, until } = open();
    expect(trial.share).toBe(0.5);
    until(0, trial.ratePerMs, 4);
    expect(trial.share).toBe(0.4);
    until(1, trial.ratePerMs, 4);
    expect(trial.share).toBe(0.5);
  });

  it('leaves the share that has nothing to do with the rate', () => {
    const { trial, until } = open();
    until(8);
    expect(trial.cleanShare).toBeGreaterThan(0.04);
    expect(trial.cleanShare).toBeLessThan(0.125);
  });

  it('says nothing by calls that began before', () => {
    const { trial } = open();
    for (let call = 0; call < 1_000; call += 1) expect(trial.note(false, 9, 1)).toBeUndefined();
  });
});

describe('climbing', () => {
  const FAST = 2 * RATE_PER_MS;

  it('it is a limit when it comes back at a higher rate', () => {
    const { until } = open();
    expect([until(0), until(2, FAST)]).toEqual(['clean', 'limit']);
  });

  it('nor is it one for two of seven, when so few came before', () => {
    const { until } = open();
    expect([until(0), until(3, FAST, 7)]).toEqual(['clean', undefined]);
  });

  it('it is soon found to be back, however long it was away', () => {
    const { until } = open();
    expect([until(0), until(0, FAST, 200), until(1, FAST, 12)]).toEqual([
      'clean',
      undefined,
      'limit',
    ]);
  });

  it('what comes at the slow rate, or seldom, says nothing', () => {
    for (const [every, rate] of [
      [2, 'slow'],
      [20, 'fast'],
    ] as const) {
      const { trial, until } = open();
      until(0);
      expect(until(every, rate === 'fast' ? FAST : trial.ratePerMs)).toBeUndefined();
    }
  });

  it('it was none once the rate has been for a while what it was', () => {
    const { trial, until } = open();
    expect(trial.isAtTop()).toBe(true); // it was not taken down long enough to tell
    until(0);
    expect(Array.from({ length: 61 }, () => trial.isAtTop()).lastIndexOf(false)).toBe(59);
  });
});
