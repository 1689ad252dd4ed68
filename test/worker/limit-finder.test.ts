import { expect, it } from 'vitest';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { LimitFinder } from '../../src/worker/limit-finder.ts';
import { createPace } from '../../src/worker/pace.ts';
import { throttled } from './meanings.ts';

it.each([1, 20])(
  'a limit that fell far and refuses each tenth call is doubted: calls about %s domains count as one',
  (domains) => {
    const kinds = new AnswerKinds();
    const counts = { answers: 0, goods: 0, calls: 0 };
    const pace = createPace(0, { limitPerMs: 0.1, cap: 0 });
    const climbs: number[] = [];
    const finder = new LimitFinder(kinds, counts, {
      home: { pace, slow: () => {}, climb: (toPerMs) => climbs.push(toPerMs), resume: () => {} },
      nowMs: () => 0,
    });
    const kind = kinds.of(throttled());
    for (let call = 1; call <= 60; call += 1) kinds.tried(kind, true);
    finder.refused(kind, false);
    pace.limitPerMs = 0.01;
    for (let call = 1; call <= 40; call += 1) {
      const isRefused = call % 10 === 0;
      kinds.tried(isRefused ? kind : undefined, true);
      if (!isRefused) counts.goods += domains;
      else {
        pace.refusals += 1;
        finder.refused(kind, false);
      }
    }
    expect(climbs).toEqual([Number.POSITIVE_INFINITY]);
    // What came before at a higher rate is no sign of how often it comes by chance.
    expect(kind.baseShare).toBeLessThan(0.24);
  },
);
