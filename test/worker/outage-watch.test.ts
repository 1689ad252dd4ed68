import { describe, expect, it } from 'vitest';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { OutageWatch } from '../../src/worker/outage-watch.ts';
import { away, broken, forbidden } from './meanings.ts';

const MEANINGS = { 403: forbidden(), 500: broken(), 503: away() };

/** What watches after a hundred good answers, among which some were bad. */
function open(usual: Partial<Record<keyof typeof MEANINGS, number>> = {}) {
  const kinds = new AnswerKinds();
  const watch = new OutageWatch(kinds, { answers: 0 });
  watch.found('found.example', '{}');
  let domains = 0;
  const kindOf = (status: keyof typeof MEANINGS) => kinds.of(MEANINGS[status]);
  const counts = Object.entries(usual).map(([status, count]) => {
    return [kindOf(Number(status) as keyof typeof MEANINGS), count] as const;
  });
  kinds.noteUsual(100, new Map(counts));
  const bad = (status: keyof typeof MEANINGS, domain = `${(domains += 1)}.example`): boolean => {
    watch.bad(kindOf(status), domain);
    return watch.state !== 'well';
  };
  /** How many more domains make it unlikely, of 100. */
  const length = (status: keyof typeof MEANINGS): number | undefined =>
    Array.from({ length: 100 }, (_, at) => at + 1).find(() => bad(status));
  return { kinds, watch, bad, length, kindOf };
}

it.each([
  { usual: {}, length: 5 },
  { usual: { 503: 10 }, length: 6 },
  { usual: { 503: 100 }, length: 19 },
  { usual: { 503: 5_000 }, length: undefined },
  { usual: { 500: 100 }, length: 19 },
])('after $usual of 100 it is unlikely after $length 503', ({ usual, length }) => {
  const { watch, length: lengthOf } = open(usual);
  expect([lengthOf(503), watch.state]).toEqual([length, length ? 'suspected' : 'well']);
});

it('counts a domain once, and whatever its kind', () => {
  const { watch, bad, kindOf } = open();
  for (let time = 0; time < 9; time += 1) bad(503, 'same.example');
  expect([bad(503), bad(503), bad(500), bad(503)]).toEqual([false, false, false, true]);
  expect(watch.main).toBe(kindOf(503));
  expect([...watch.kinds]).toEqual([kindOf(503), kindOf(500)]);
});

describe('a row that is suspected', () => {
  const suspected = () => {
    const opened = open();
    opened.length(503);
    return opened;
  };

  it('is down when two probes have failed', () => {
    const { watch, kindOf } = suspected();
    expect([watch.probeFailed(kindOf(503)), watch.state]).toEqual([false, 'suspected']);
    expect([watch.probeFailed(kindOf(503)), watch.state]).toEqual([true, 'down']);
    expect(watch.probeFailed(kindOf(503))).toBe(false);
    watch.clear();
    expect(watch.main).toBeUndefined();
  });

  it('is down when four have failed by what comes by chance', () => {
    const { watch, kindOf } = suspected();
    kindOf(403).about = 'chance';
    const failed = () => watch.probeFailed(kindOf(403));
    expect([failed(), failed(), failed(), failed()]).toEqual([false, false, false, true]);
  });

  it.each(['good', 'probeGood', 'clear'] as const)(
    'is over with %s, and a new one begins',
    (end) => {
      const { watch, length } = suspected();
      watch[end]();
      expect([watch.state, watch.main]).toEqual(['well', undefined]);
      expect(length(503)).toBe(5);
    },
  );
});

it('what came while all was down is not what usually comes', () => {
  const { kinds, watch, bad } = open();
  watch.goDown();
  for (let domain = 0; domain < 50; domain += 1) bad(503);
  watch.good();
  expect(kinds.usual()).toBeLessThan(0.01);
});

it('asks about one domain after the other, however often others tell of the same', () => {
  const watch = new OutageWatch(new AnswerKinds(), { answers: 0 });
  for (const domain of ['one.example', 'two.example']) watch.found(domain, '');
  for (let time = 0; time < 20; time += 1) watch.found('two.example', '');
  const asked = [1, 2, 3, 4].map(() => {
    const domain = watch.nextProbe?.domain;
    watch.moveOn();
    return domain;
  });
  expect(asked).toEqual(['one.example', 'two.example', 'one.example', 'two.example']);
});
