import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { type AnswerKind, AnswerKinds } from '../../src/worker/answer-kinds.ts';
import {
  away,
  broken,
  forbidden,
  found,
  invalid,
  later,
  unknown as notFound,
  page,
  quota,
  throttled,
} from './meanings.ts';

/** All kinds after a hundred domains, of which each `every`th got the answer. */
function given(meaning: Meaning, every: number) {
  const kinds = new AnswerKinds();
  const kind = kinds.of(meaning);
  for (let at = 1; at <= 100; at += 1) kinds.tried(at % every === 0 ? kind : undefined, true);
  return { kinds, kind };
}

/** So many domains were asked again. */
function askAgain(kinds: AnswerKinds, kind: AnswerKind, domains: number, isSame: boolean): void {
  for (let at = 0; at < domains; at += 1) {
    if (isSame) kind.same.add(`${at}.example`);
    kinds.repeated(kind, isSame);
  }
}

it.each([
  { answer: throttled(), about: 'limit', isPlain: false, mayBeLimit: true },
  { answer: later(quota(), 1_000), about: 'limit', isPlain: false, mayBeLimit: true },
  { answer: notFound(), about: 'own', isPlain: true, mayBeLimit: false },
  { answer: found('holding.example'), about: 'own', isPlain: true, mayBeLimit: false },
  { answer: { ...invalid(), isSure: true }, about: 'own', isPlain: true, mayBeLimit: false },
  { answer: page(), about: 'unknown', isPlain: false, mayBeLimit: true },
  { answer: invalid(), about: 'unknown', isPlain: false, mayBeLimit: true },
  { answer: forbidden(), about: 'unknown', isPlain: false, mayBeLimit: true },
  { answer: away(), about: 'unknown', isPlain: false, mayBeLimit: true },
  {
    answer: { ...away(), httpStatus: undefined },
    about: 'unknown',
    isPlain: false,
    mayBeLimit: true,
  },
  {
    answer: { ...broken(), kind: 'failed' } as Meaning,
    about: 'unknown',
    isPlain: false,
    mayBeLimit: false,
  },
])(
  'a first $answer.reason ($answer.kind, $answer.form) is about: $about',
  ({ answer, ...holds }) => {
    expect(new AnswerKinds().of(answer)).toMatchObject(holds);
  },
);

it.each([
  { what: 'two texts', one: forbidden('a left'), other: forbidden('b left'), isOne: true },
  { what: 'two statuses', one: forbidden('a left'), other: invalid('a left'), isOne: false },
  { what: 'a page and an answer', one: page('a'), other: notFound('a'), isOne: false },
])('$what: one kind? $isOne', ({ one, other, isOne }) => {
  const kinds = new AnswerKinds();
  expect(kinds.of(other) === kinds.of(one)).toBe(isOne);
});

describe('asking again tells whom an answer is about', () => {
  it.each([
    { every: 10, same: 3, bettered: 0, about: 'unknown' },
    { every: 10, same: 4, bettered: 0, about: 'own' },
    { every: 10, same: 4, bettered: 1, about: 'unknown' },
    { every: 2, same: 4, bettered: 0, about: 'unknown' },
    { every: 2, same: 16, bettered: 0, about: 'own' },
    { every: 10, same: 0, bettered: 1, about: 'unknown' },
    { every: 10, same: 0, bettered: 2, about: 'chance' },
    { every: 2, same: 0, bettered: 3, about: 'chance' },
  ])(
    'one domain in $every got it; $bettered were bettered and $same were not: $about',
    ({ every, same, bettered, about }) => {
      const { kinds, kind } = given(forbidden(), every);
      askAgain(kinds, kind, bettered, false);
      askAgain(kinds, kind, same, true);
      expect(kind.about).toBe(about);
    },
  );

  it('one domain asked four times is no four domains', () => {
    const { kinds, kind } = given(forbidden(), 10);
    for (let time = 0; time < 8; time += 1) {
      kind.same.add('one.example');
      kinds.repeated(kind, true);
    }
    expect(kind.about).toBe('unknown');
  });

  it('what was own is open again when a domain is bettered', () => {
    const { kinds, kind } = given(forbidden(), 10);
    askAgain(kinds, kind, 8, true);
    expect(kind.about).toBe('own');
    askAgain(kinds, kind, 1, false);
    expect(kind).toMatchObject({ about: 'unknown', same: new Set() });
  });

  it('probes that are well while nothing but it comes show the domains’ own', () => {
    const { kinds, kind } = given(forbidden(), 2);
    for (const domain of ['a', 'b', 'c', 'd']) kind.same.add(domain);
    for (let probe = 0; probe < 20; probe += 1) kinds.probeWell(kind);
    expect(kind.about).toBe('own');
  });

  it('what was chance is the domains’ own once by far more of them get the same again', () => {
    const { kinds, kind } = given(forbidden(), 10);
    askAgain(kinds, kind, 4, false);
    askAgain(kinds, kind, 67, true);
    expect(kind.about).toBe('chance');
    askAgain(kinds, kind, 68, true);
    expect(kind.about).toBe('own');
  });

  it('where some are bettered, each domain is told by itself', () => {
    const { kinds, kind } = given(forbidden(), 10);
    askAgain(kinds, kind, 1, false);
    askAgain(kinds, kind, 8, true);
    expect(kind.about).toBe('chance');
  });
});

describe('a trial of the rate explains a share', () => {
  it.each([
    { before: 'unknown', bettered: 0, after: 'unknown' },
    { before: 'unknown', bettered: 1, after: 'chance' },
    { before: 'own', bettered: 1, after: 'chance' },
    { before: 'limit', bettered: 0, after: 'chance' },
  ] as const)(
    'of what was $before, $bettered times bettered: $after',
    ({ before, bettered, after }) => {
      const { kinds, kind } = given(forbidden(), 10);
      Object.assign(kind, { about: before, bettered, baseShare: 0.05 });
      kinds.noteBaseShare(kind, 0.25);
      kinds.noteBaseShare(kind, 0.2);
      expect(kind).toMatchObject({ about: after, baseShare: 0.25 });
    },
  );

  it.each([
    { baseShare: 0, every: 20, isExcess: false },
    { baseShare: 0, every: 4, isExcess: true },
    { baseShare: 0.25, every: 3, isExcess: false },
    { baseShare: 0.25, every: 2, isExcess: true },
    { baseShare: 0.9, every: 1, isExcess: true },
  ])(
    '$baseShare of it: one in $every is more than that: $isExcess',
    ({ baseShare, every, isExcess }) => {
      const { kinds, kind } = given(forbidden(), every);
      kind.baseShare = baseShare;
      expect(kinds.isExcess(kind)).toBe(isExcess);
    },
  );
});

/** Own answers of so many domains make another one likely. */
const OFTEN = 1_000;

it.each([
  { gets: forbidden(), every: 10, most: 3 },
  { gets: forbidden(), every: 2, most: 8 },
  { gets: forbidden(), every: 1, most: 190 },
  { gets: throttled(), every: 10, most: 3 },
])(
  'where one domain in $every gets $gets.reason, it is its own after more than $most',
  ({ gets, every, most }) => {
    const { kinds, kind } = given(gets, every);
    kind.own = OFTEN;
    if (kind.about === 'unknown') kind.about = 'chance';
    expect([most, most + 1].map((same) => kinds.isOfDomain(kind, same))).toEqual([false, true]);
  },
);

it('the fewer domains it was the own of, the more it takes until it is that of one more', () => {
  const { kinds, kind } = given(forbidden(), 10);
  kind.about = 'chance';
  for (let at = 0; at < 1_000; at += 1) kinds.tried(undefined, true);
  const least = [0, 40, 200].map((own) => {
    kind.own = own;
    return [1, 2, 3, 4, 5, 6, 7].find((same) => kinds.isOfDomain(kind, same));
  });
  expect(least).toEqual([6, 5, 4]);
});

it('for a limit only what new domains get counts', () => {
  const { kinds, kind } = given(throttled(), 10);
  kind.own = OFTEN;
  for (let at = 0; at < 40; at += 1) kinds.tried(kind, false);
  expect(kinds.isOfDomain(kind, 4)).toBe(true);
  kind.about = 'chance';
  expect(kinds.isOfDomain(kind, 4)).toBe(false);
});

it('what is long ago counts for little, and what came while all was well for all', () => {
  const { kinds, kind } = given(forbidden(), 2);
  expect(kinds.share(kind)).toBeCloseTo(0.5, 1);
  for (let at = 0; at < 100; at += 1) kinds.tried(undefined, true);
  expect(kinds.share(kind)).toBeLessThan(0.05);
  expect(kinds.usual()).toBe(0.05);
  kinds.noteUsual(80, new Map([[kind, 10]]));
  expect(kinds.usual()).toBe(10.5 / 100);
  kinds.noteUsual(0, new Map([[kinds.of(away()), 1e6]]));
  expect(kinds.usual()).toBe(0.95);
});

it('at the end of a list, domains that are well show that a limit is none', () => {
  const { kinds, kind } = given(throttled(), 1);
  kind.own = OFTEN;
  expect(kinds.isOfDomain(kind, 4)).toBe(false);
  for (let probe = 0; probe < 4; probe += 1) kinds.noteProbe();
  expect([3, 4].map((same) => kinds.isOfDomain(kind, same))).toEqual([false, true]);
  for (let probe = 0; probe < 2; probe += 1) {
    kinds.noteProbe();
    kinds.probeFailed(kind);
  }
  expect(kinds.isOfDomain(kind, 4)).toBe(false);
});

it.each([
  { often: 'one refusal for four that are well', refusals: 1, isOwn: true },
  { often: 'five for each', refusals: 20, isOwn: false },
])(
  'where only domains are left that get it, those that are well show how often it comes by chance: $often',
  ({ refusals, isOwn }) => {
    const { kinds, kind } = given(forbidden(), 4);
    askAgain(kinds, kind, 12, false);
    for (let at = 0; at < 25; at += 1) kinds.wellAfter(kind, refusals);
    for (let last = 0; last < 60; last += 1) kinds.tried(kind, true);
    expect(kind.about).toBe('chance');
    expect(kinds.share(kind)).toBeGreaterThan(0.8);
    expect(kinds.isOfDomain(kind, 6)).toBe(isOwn);
    expect(kinds.isOfDomain(kind, 2)).toBe(false);
  },
);
